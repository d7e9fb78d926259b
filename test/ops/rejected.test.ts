/** The samples of refused requests stay few, newest first, and a flood of one kind leaves the others alone. */
import { expect, test } from 'vitest';
import { RejectedLog, type RejectedStatus } from '../../src/ops/state/rejected.ts';

const one = (atMs: number, status: RejectedStatus = 401) => ({
  atMs,
  status,
  reason: 'wrong_signature' as const,
  remoteAddress: '127.0.0.1',
  bytes: 7,
});

test('the last fifty of each kind', () => {
  const log = new RejectedLog();
  expect(log.latest()).toEqual([]);
  log.record(one(1, 413));
  log.record(one(2, 503));
  for (let n = 3; n < 1_000; n += 1) log.record(one(n));
  const latest = log.latest();
  expect(latest).toHaveLength(52);
  expect(latest.map(({ atMs }) => atMs).slice(0, 3)).toEqual([999, 998, 997]);
  expect(latest.slice(-3).map(({ atMs, status }) => [atMs, status])).toEqual([
    [950, 401],
    [2, 503],
    [1, 413],
  ]);
});

test('of one instant, the one that came later is first', () => {
  const log = new RejectedLog();
  log.record({ ...one(5), bytes: 1 });
  log.record({ ...one(5), bytes: 2 });
  expect(log.latest().map(({ bytes }) => bytes)).toEqual([2, 1]);
});
