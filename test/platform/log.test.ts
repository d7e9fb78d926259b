import { closeSync, fstatSync, openSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createLog, isJournal, openOutput } from '../../src/platform/log.ts';
import { SqliteFault } from '../../src/sqlite/errors.ts';

test('logs a fault of a file once per level, without its stack', () => {
  const stream = new PassThrough();
  const log = createLog('info', openOutput(stream as unknown as NodeJS.WriteStream));
  const fault = (message: string) => ({ err: new SqliteFault('no_room', message) });
  log.warn(fault('full'), 'pruning failed');
  log.warn(fault('full'), 'the plots cannot be stored');
  log.error(fault('full'), 'the mirror has failed');
  log.error(fault('full'), 'a scheduled job failed');
  log.warn(fault('locked'), 'pruning failed');
  log.warn({ err: new Error('full') }, 'another error');
  const lines = String(stream.read()).trim().split('\n');
  const seen = lines.map((line) => JSON.parse(line) as { readonly msg: string; readonly err: object });
  expect(seen.map(({ msg }) => msg)).toEqual([
    'pruning failed',
    'the mirror has failed',
    'pruning failed',
    'another error',
  ]);
  expect(seen[0]?.err).toEqual({ type: 'SqliteFault', kind: 'no_room', message: 'full' });
});

function written(isTTY: boolean, options: Parameters<typeof openOutput>[1]): string {
  const stream = Object.assign(new PassThrough(), { isTTY });
  createLog('info', openOutput(stream as unknown as NodeJS.WriteStream, options)).warn('a read failed');
  return stripVTControlCharacters(String(stream.read()));
}

test('writes text or JSON wherever LOG_FORMAT asks for it', () => {
  expect(written(false, { format: 'text' })).toMatch(/^\d\d:\d\d:\d\d WARN/);
  expect(written(true, { format: 'json' })).toMatch(/^\{"level":"warn"/);
});

test('begins each line with its priority in the journal, and nowhere else', () => {
  expect(written(false, { isJournal: true })).toMatch(/^<4>\{"level":"warn"/);
  expect(written(false, { isJournal: true, format: 'text' })).toMatch(/^<4>\d\d:\d\d:\d\d WARN/);
  const fd = openSync('/dev/null', 'w');
  onTestFinished(() => closeSync(fd));
  const { dev, ino } = fstatSync(fd, { bigint: true });
  expect(isJournal(fd, `${dev}:${ino}`)).toBe(true);
  expect(isJournal(fd, `${dev}:${ino + 1n}`)).toBe(false);
  expect(isJournal(fd, null)).toBe(false);
});
