/** The log's two forms (DESIGN §4). */
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { createLog } from '../src/log.ts';
import { Secret } from '../src/secret.ts';

function written(isTTY: boolean): string {
  const stream = Object.assign(new PassThrough(), { isTTY });
  const log = createLog('info', stream as unknown as NodeJS.WriteStream);
  log.debug('not asked for');
  log.warn({ productId: '12', key: new Secret('never shown') }, 'a read failed');
  return String(stream.read());
}

test('JSON, one object a line, for programs', () => {
  const lines = written(false).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      productId: '12',
      key: '[secret]',
      msg: 'a read failed',
    },
  ]);
});

test('text for people at a terminal', () => {
  const text = written(true);
  expect(stripVTControlCharacters(text)).toMatch(
    /^\[\d\d:\d\d:\d\d\] WARN: a read failed\n +productId: "12"\n +key: "\[secret\]"\n$/,
  );
  expect(text).not.toContain('never shown');
});
