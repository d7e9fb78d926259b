import { expect, test } from 'vitest';
import type { Missed } from '../../src/core/input.ts';
import { planCommit, type Waiting } from '../../src/receiver/commit-plan.ts';

const MISSED: Missed = { why: 'unserved', sinceMs: 1, untilMs: 2, variantIds: null };
const NOTHING = { waiting: [], missed: [], isHeartbeatDue: false };

function waiting({ rows = 1, bytes = 10, streamSeq = null as number | null } = {}): Waiting {
  const isFromStream = streamSeq !== null;
  const body = new Uint8Array(bytes);
  return {
    arrivals: Array.from(
      { length: rows },
      () => ({ kind: 'delivery', body, arrivedAtMs: 3, isFromStream }) as const,
    ),
    position: isFromStream ? { streamId: 'stream', streamSeq } : null,
    resolve: () => undefined,
    reject: () => undefined,
  };
}

test('commits nothing while nothing is due', () => {
  expect(planCommit(NOTHING)).toBeNull();
});

test.each([
  ['a heartbeat', { ...NOTHING, isHeartbeatDue: true }],
  ['what may have been missed', { ...NOTHING, missed: [MISSED] }],
  ['a delivery', { ...NOTHING, waiting: [waiting()] }],
])('commits for %s alone', (_, due) => {
  expect(planCommit(due)).toMatchObject({
    missed: due.missed,
    hasHeartbeat: due.isHeartbeatDue,
    taken: due.waiting,
    arrivals: due.waiting.flatMap(({ arrivals }) => arrivals),
    position: null,
  });
});

test('writes everything that may have been missed with the first rows, however many wait', () => {
  const due = {
    waiting: [waiting({ rows: 256 }), waiting()],
    missed: [MISSED, MISSED],
    isHeartbeatDue: true,
  };
  expect(planCommit(due)).toMatchObject({ missed: [MISSED, MISSED], hasHeartbeat: true });
});

test('stores the position of the last rows from the stream that it takes', () => {
  const groups = [waiting({ streamSeq: 4 }), waiting({ streamSeq: 9 }), waiting(), waiting({ rows: 256 })];
  const later = waiting({ streamSeq: 12 });
  const plan = planCommit({ ...NOTHING, waiting: [...groups, later] });
  expect(plan?.taken).toEqual(groups);
  expect(plan?.position).toEqual({ streamId: 'stream', streamSeq: 9 });
});

test.each([
  ['256 rows', { rows: 128 }, 2],
  ['4 MiB', { bytes: 1 << 20 }, 4],
])('stops taking at %s, and never divides rows that are stored together', (_, size, taken) => {
  const groups = Array.from({ length: 6 }, () => waiting(size));
  expect(planCommit({ ...NOTHING, waiting: groups })?.taken).toHaveLength(taken);
  const large = waiting({ rows: 1_000, bytes: 1 << 14 });
  expect(planCommit({ ...NOTHING, waiting: [large, ...groups] })?.taken).toEqual([large]);
});
