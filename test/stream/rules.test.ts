import { expect, test } from 'vitest';
import { judgePlace } from '../../src/stream/consumer.ts';
import { downSince } from '../../src/stream/receiver.ts';

const S = 1_000;

test.each<[string, Parameters<typeof downSince>[0], number | null]>([
  [
    'the only receiver was restarted quickly',
    { openSinceMs: 101 * S, isContinued: false, ownLastMs: 100 * S, othersLastMs: [] },
    100 * S,
  ],
  [
    'the only receiver was restarted with a socket that stayed open',
    { openSinceMs: 101 * S, isContinued: true, ownLastMs: 100 * S, othersLastMs: [] },
    null,
  ],
  [
    'the engine was away for minutes while the receiver listened',
    { openSinceMs: 50 * S, isContinued: false, ownLastMs: 100 * S, othersLastMs: [] },
    null,
  ],
  [
    'the other receiver of two listened during the restart',
    { openSinceMs: 130 * S, isContinued: false, ownLastMs: 100 * S, othersLastMs: [129 * S] },
    null,
  ],
  [
    'the other receiver fell silent within the tolerance',
    { openSinceMs: 133 * S, isContinued: false, ownLastMs: 100 * S, othersLastMs: [130 * S] },
    null,
  ],
  [
    'both receivers were away, the other one for less time',
    { openSinceMs: 200 * S, isContinued: false, ownLastMs: 100 * S, othersLastMs: [150 * S, 90 * S] },
    153 * S,
  ],
  [
    'both receivers were away, this one for less time',
    { openSinceMs: 200 * S, isContinued: false, ownLastMs: 152 * S, othersLastMs: [90 * S] },
    152 * S,
  ],
  [
    'a new receiver joins others',
    { openSinceMs: 200 * S, isContinued: false, ownLastMs: null, othersLastMs: [199 * S] },
    null,
  ],
  [
    'a new receiver replaces one that is gone',
    { openSinceMs: 200 * S, isContinued: false, ownLastMs: null, othersLastMs: [100 * S] },
    103 * S,
  ],
  [
    'the first receiver begins',
    { openSinceMs: 200 * S, isContinued: false, ownLastMs: null, othersLastMs: [] },
    null,
  ],
  [
    'a socket stayed open at a receiver that was never heard',
    { openSinceMs: 200 * S, isContinued: true, ownLastMs: null, othersLastMs: [100 * S] },
    103 * S,
  ],
])('coverage: %s', (_, coverage, since) => {
  expect(downSince(coverage)).toBe(since);
});

const place = { streamId: 'a', streamSeq: 10 };
const log = { id: 'a', firstSeq: 5, lastSeq: 20, consumer: { ackedSeq: 12 } };

test.each<[string, object, object, string]>([
  ['a new inbox', { streamId: null, streamSeq: 0 }, {}, 'lost'],
  ['the place that was noted', {}, {}, 'continue'],
  ['a consumer that was deleted', {}, { consumer: null }, 'moved'],
  ['a stream that was created again', {}, { id: 'b' }, 'lost'],
  ['messages that grew too old before they were taken', {}, { firstSeq: 12 }, 'lost'],
  ['messages that grew old after they were taken', {}, { firstSeq: 11 }, 'continue'],
  ['a stream that was restored from an older copy', {}, { lastSeq: 9 }, 'lost'],
  ['an empty stream whose messages were all taken', {}, { firstSeq: 11, lastSeq: 10 }, 'continue'],
])('place in the stream: %s', (_, noted, found, verdict) => {
  expect(judgePlace({ ...place, ...noted }, { ...log, ...found })).toBe(verdict);
});
