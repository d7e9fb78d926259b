/** What a read may claim to have seen, where the stamps of entries are other machines' (docs/beyond-one-machine.md). */
import { afterEach, expect, test, vi } from 'vitest';
import type { LogClient } from '../../src/event-log/log-client.ts';
import { SharedLog } from '../../src/replication/shared-log.ts';

afterEach(() => void vi.useRealTimers());

test('s0 is what was applied here two seconds ago by the stopwatch, whatever has come since', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  let appliedSeq = 5;
  const client = { lastSeq: 9 } as Pick<LogClient, 'lastSeq'> as LogClient;
  const log = new SharedLog({ log: client, engine: null, origin: 'here', appliedSeq: () => appliedSeq });
  expect(log.s0).toBe(0);
  vi.advanceTimersByTime(500);
  appliedSeq = 9;
  log.note();
  vi.advanceTimersByTime(1_600);
  expect(log.s0).toBe(5);
  vi.advanceTimersByTime(500);
  expect(log.s0).toBe(9);
});
