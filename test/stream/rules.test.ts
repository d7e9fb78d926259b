import { expect, test } from 'vitest';
import { judgePlace } from '../../src/stream/consumer.ts';
import { readNotice } from '../../src/stream/notices.ts';
import { downSince } from '../../src/stream/receiver.ts';

/** Seconds: the port's opening, the receiver's own last heartbeat, the last ones of others, and since when none listened. */
test.each<[string, number, [own: number | null, ...others: number[]], number | null]>([
  ['the only receiver was restarted quickly', 101, [100], 100],
  ['the engine was away for minutes while the receiver listened', 50, [100], null],
  ['the other receiver of two listened during the restart', 130, [100, 129], null],
  ['the other receiver fell silent within the tolerance', 133, [100, 130], null],
  ['both receivers were away, the other one for less time', 200, [100, 150, 90], 153],
  ['both receivers were away, this one for less time', 200, [152, 90], 152],
  ['a new receiver joins others', 200, [null, 199], null],
  ['a new receiver replaces one that is gone', 200, [null, 100], 103],
  ['the first receiver begins', 200, [null], null],
])('coverage: %s', (_, open, [own, ...others], since) => {
  const coverage = {
    openSinceMs: open * 1_000,
    ownLastMs: own === null ? null : own * 1_000,
    othersLastMs: others.map((at) => at * 1_000),
  };
  expect(downSince({ ...coverage, isContinued: false })).toBe(since === null ? null : since * 1_000);
  // A socket that stayed open continues the receiver's own heartbeats only.
  const continued = downSince({ ...coverage, isContinued: true });
  expect(continued).toBe(own !== null || since === null ? null : since * 1_000);
});

const place = { streamId: 'a', streamSeq: 10 };
const log = { id: 'a', firstSeq: 5, lastSeq: 20, consumer: { ackedSeq: 12 } };

test.each<[string, object, object, string]>([
  ['a new inbox', { streamId: null, streamSeq: 0 }, { consumer: null }, 'lost'],
  ['a new host that was killed before it noted a place', { streamId: null, streamSeq: 0 }, {}, 'continue'],
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

test.each(['', '{}', '{"kind":"other"}'])('takes the notice %j for a downtime of unknown length', (text) => {
  expect(readNotice(Buffer.from(text))).toMatchObject({
    kind: 'missed',
    why: 'stream_gap',
    sinceMs: null,
    variantIds: null,
  });
});
