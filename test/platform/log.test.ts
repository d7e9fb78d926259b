import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createLog, openOutput } from '../../src/platform/log.ts';
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
