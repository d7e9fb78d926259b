/** The other rules of the alarms, each by a table, and how long an alarm stands. */
import { expect, test } from 'vitest';
import { nextAlarms, type AlarmKind } from '../../../src/ops/alarms/alarm.ts';
import { areSignaturesBad, type SignatureView } from '../../../src/ops/alarms/bad-signatures.ts';
import { judge, type WatchedState } from '../../../src/ops/alarms/judge.ts';
import { NOTHING_HELD } from '../../../src/ops/alarms/held-words.ts';
import { SlotCounts } from '../../../src/ops/alarms/slot-counts.ts';

const NOW = Date.UTC(2026, 8, 16, 12);
const MINUTE = 60_000;

const signatures = (
  quarter: readonly [wrong: number, right: number],
  hour: readonly [wrong: number, right: number],
): SignatureView => ({
  lastQuarter: { wrong: quarter[0], right: quarter[1] },
  lastHour: { wrong: hour[0], right: hour[1] },
});

test.each<[string, SignatureView, boolean]>([
  ['none at all', signatures([0, 0], [0, 0]), false],
  ['right ones alone', signatures([0, 900], [0, 4_000]), false],
  ['two wrong ones of a store that sells nothing', signatures([2, 0], [2, 0]), false],
  ['three wrong ones in an hour, and no right one', signatures([0, 0], [3, 0]), true],
  ['a right one among them', signatures([0, 0], [3, 1]), false],
  ['right ones until a quarter of an hour ago, then wrong ones', signatures([3, 0], [3, 500]), true],
  ['few among many', signatures([9, 36], [9, 100]), false],
  ['a fifth is wrong', signatures([10, 40], [10, 100]), true],
  ['less than a fifth', signatures([10, 41], [10, 100]), false],
])('signatures: %s', (_what, seen, expected) => {
  expect(areSignaturesBad(seen)).toBe(expected);
});

const WELL: WatchedState = {
  silence: { nowMs: NOW, lastDeliveryAtMs: NOW - 1, listeningSinceMs: 0, before: [] },
  signatures: signatures([0, 5], [0, 20]),
  blocked: null,
  own: {
    commits: { lastGoodAtMs: NOW - 1_000, lastError: null },
    stuck: null,
    behindSinceMs: null,
    clockAheadMs: null,
    growingSinceMs: null,
    turnedAwayAtMs: null,
    misdirected: null,
  },
  held: NOTHING_HELD,
  parkedReads: 0,
};
const blocked = (kind: string, sinceMs: number) => ({
  blocked: { kind, message: 'its own words', sinceMs, untilMs: null },
});
const own = (over: Partial<WatchedState['own']>) => ({ own: { ...WELL.own, ...over } });
const commits = (lastGoodAtMs: number, message: string | null) =>
  own({ commits: { lastGoodAtMs, lastError: message === null ? null : { kind: 'cannot_commit', message } } });

test.each<[string, Partial<WatchedState>, AlarmKind[], RegExp]>([
  ['all is well', {}, [], /^$/],
  [
    'silence',
    { silence: { ...WELL.silence, lastDeliveryAtMs: null, listeningSinceMs: NOW - 13 * 60 * MINUTE } },
    ['silence'],
    /^no webhook has ever arrived from the store: .* Check .* that the webhook URL is right/,
  ],
  [
    'another secret',
    { signatures: signatures([8, 0], [8, 0]) },
    ['bad_signatures'],
    /^8 webhooks .* set SERVICE_WEBHOOK_SECRET to the new secret and SERVICE_WEBHOOK_SECRET_PREVIOUS to the old one/,
  ],
  [
    'a wrong secret of ours',
    blocked('credentials', NOW),
    ['credentials'],
    /^The store refuses the credentials\. .* What to do: correct /,
  ],
  [
    'another store',
    blocked('wrong_store', NOW),
    ['wrong_store'],
    /^The credentials belong to another store /,
  ],
  ['a short failure of the store', blocked('breaker', NOW - 4 * MINUTE), [], /^$/],
  [
    'an outage',
    blocked('breaker', NOW - 5 * MINUTE),
    ['service_unreachable'],
    /^The store: its own words cannot be read/,
  ],
  ['a lock of a moment', commits(NOW - 9_999, 'busy'), [], /^$/],
  [
    'no transaction succeeds',
    commits(NOW - 10_000, 'disk I/O error'),
    ['store_cannot_commit'],
    /^The event log cannot be written: disk I\/O error\. .* refused with 503/,
  ],
  [
    'no transaction ends',
    commits(NOW - 10_000, null),
    ['store_cannot_commit'],
    /^The event log cannot be written: the disk does not answer\./,
  ],
  ['a burst', own({ behindSinceMs: NOW - 29_999 }), [], /^$/],
  [
    'another program’s lock on the mirror',
    own({ behindSinceMs: NOW - 30_000, stuck: { kind: 'busy', message: 'locked', sinceMs: NOW - 30_000 } }),
    ['tables_behind'],
    /^Another program holds the write lock of the mirror’s file\. .* Webhooks are answered and kept in the event log/,
  ],
  [
    'too much for this machine',
    own({ behindSinceMs: NOW - 30_000 }),
    ['tables_behind'],
    /more to apply than this machine keeps up with\./,
  ],
  [
    'the mass-removal guard',
    { held: { held_removals: 274, held_variants: 1, held_levels: 252 } },
    ['held_removals'],
    /^the store no longer shows 21 products, 1 variant and 252 stock levels.*--allow-removals/,
  ],
  ['refused reads', { parkedReads: 2 }, ['parked_reads'], /^products that cannot be read.*: 2\./],
  [
    'two things at once',
    { parkedReads: 2, ...blocked('credentials', NOW) },
    ['credentials', 'parked_reads'],
    /./,
  ],
])('%s', (_what, over, kinds, message) => {
  const findings = judge({ ...WELL, ...over });
  expect(findings.map(({ kind }) => kind)).toEqual(kinds);
  expect(findings[0]?.message ?? '').toMatch(message);
});

test('an alarm keeps its beginning while it stands, and its words follow', () => {
  const first = nextAlarms([], [{ kind: 'parked_reads', message: '1' }], NOW);
  expect(first).toEqual([{ kind: 'parked_reads', since: NOW, message: '1' }]);
  const second = nextAlarms(
    first,
    [
      { kind: 'parked_reads', message: '2' },
      { kind: 'silence', since: NOW - 9, message: 's' },
    ],
    NOW + 5,
  );
  expect(second).toEqual([
    { kind: 'silence', since: NOW - 9, message: 's' },
    { kind: 'parked_reads', since: NOW, message: '2' },
  ]);
  expect(nextAlarms(second, [], NOW + 6)).toEqual([]);
});

test('counts by stretches of time: what is older than all of them is forgotten, and time may leap', () => {
  const counts = new SlotCounts(10, 4, 100);
  counts.add(100);
  counts.add(109, 2);
  counts.add(112);
  expect(counts.latest(112, 2)).toBe(4);
  expect(counts.latest(112, 1)).toBe(1);
  expect(counts.within(100, 110)).toBe(3);
  expect(counts.within(100, 110, 2)).toBe(2);
  // Only stretches that lie within as a whole.
  expect(counts.within(101, 119)).toBe(0);
  counts.add(131);
  expect(counts.latest(131, 4)).toBe(5);
  expect(counts.latest(141, 4)).toBe(2);
  counts.add(145);
  expect(counts.within(0, 200)).toBe(3);
  counts.add(100);
  expect(counts.within(0, 200)).toBe(3);
  counts.add(10_000);
  expect(counts.within(0, 20_000)).toBe(1);
});
