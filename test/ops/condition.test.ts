/** The state in one look: decided by a table of facts, in words that name cause, owner and remedy. */
import { describe, expect, test } from 'vitest';
import { ClockSkew } from '../../src/ops/state/clock-skew.ts';
import { causeLine, type CauseKind } from '../../src/ops/condition/cause.ts';
import {
  conditionOf,
  shareText,
  timesOf,
  type ConditionName,
  type ConditionStatus,
} from '../../src/ops/condition/condition.ts';
import { GrowingBacklog } from '../../src/ops/condition/growing-backlog.ts';
import type { OwnTrouble } from '../../src/ops/condition/own-trouble.ts';
import { STATE_OF_CAUSE, type StateCause } from '../../src/mirror/file/state.ts';
import type { Blocked } from '../../src/ops/condition/store-trouble.ts';

type Facts = Parameters<typeof conditionOf>[0];

const NOW = Date.UTC(2026, 8, 16, 12);
const MINUTE = 60_000;

const STATUS: ConditionStatus = {
  state: 'live',
  state_cause: null,
  alive_at: NOW - 500,
  last_full_sync_at: NOW - 60 * MINUTE,
  products: 100,
  levels: 1_000,
  suspect_count: 0,
  pending_reads: 0,
  parked_reads: 0,
  held_removals: 0,
};
const OWN: OwnTrouble = {
  commits: { lastGoodAtMs: NOW - 300, lastError: null },
  stuck: null,
  behindSinceMs: null,
  clockAheadMs: null,
  growingSinceMs: null,
  turnedAwayAtMs: null,
  misdirected: null,
};
const WELL: Facts = { status: STATUS, nowMs: NOW, serving: 'yes', blocked: null, own: OWN, maxRps: 50 };

const status = (over: Partial<ConditionStatus>): Partial<Facts> => ({ status: { ...STATUS, ...over } });
/** As the view has it. */
const because = (cause: StateCause, over: Partial<ConditionStatus> = {}): Partial<Facts> =>
  status({ state: STATE_OF_CAUSE[cause], state_cause: cause, ...over });
const own = (over: Partial<OwnTrouble>): Partial<Facts> => ({ own: { ...OWN, ...over } });
const blocked = (kind: string, over: Partial<Blocked> = {}): Partial<Facts> => ({
  blocked: {
    kind,
    message: 'its words',
    untilMs: NOW + 4_000,
    sinceMs: NOW - MINUTE,
    at: 'store:443',
    ...over,
  },
});
const network = (code: string) =>
  blocked('breaker', { failure: { kind: 'unavailable', status: null, code } });
const commits = (ageMs: number, message: string | null, kind = 'cannot_commit') =>
  own({
    commits: {
      lastGoodAtMs: NOW - ageMs,
      lastError: message === null ? null : { kind, message },
    },
  });
const stuck = (kind: string, message = 'why') => own({ stuck: { kind, message, sinceMs: NOW - 5_000 } });

test.each<[string, Partial<Facts>, ConditionName, CauseKind[], RegExp]>([
  ['all is well', {}, 'live', [], /^All figures are current$/],
  ['few suspects', status({ suspect_count: 10 }), 'live', [], /except the 10 that are marked suspect/],
  ['many', status({ suspect_count: 11 }), 'repairing', [], /^11 of 1,000 stock levels are uncertain/],
  [
    'a first read',
    because('first_read', { last_full_sync_at: null, pending_reads: 80 }),
    'catching_up',
    [],
    /first read .* 80 of 100 products wait/,
  ],
  ['after downtime', because('downtime'), 'catching_up', [], /after downtime/],
  [
    'a start with much to apply',
    { ...because('no_heartbeat', { alive_at: NOW - 99_000 }), ...own({ behindSinceMs: NOW - 29_000 }) },
    'catching_up',
    [],
    /applies what its event log has/,
  ],
  [
    'more than it keeps up with',
    own({ behindSinceMs: NOW - 30_000 }),
    'blocked',
    ['tables_stuck'],
    /keeps up/,
  ],
  ['nobody serves it', { serving: 'no', own: null }, 'blocked', ['stopped'], /^The mirror is not running$/],
  [
    'a process that hangs',
    { serving: 'held', own: null, ...because('no_heartbeat', { alive_at: NOW - 11_000 }) },
    'blocked',
    ['not_kept_up'],
    /hangs/,
  ],
  ['another port', { serving: 'held', own: null }, 'live', [], /current/],
  ['one failed commit', commits(2_499, 'I/O'), 'live', [], /current/],
  ['commits fail', commits(2_500, 'I/O'), 'blocked', ['cannot_store'], /cannot be written: I\/O/],
  ['a slow sync', commits(4_999, null), 'live', [], /current/],
  ['a sync that hangs', commits(5_000, null), 'blocked', ['cannot_store'], /the disk does not answer/],
  [
    'a full disk',
    commits(2_500, 'any words', 'no_room'),
    'blocked',
    ['no_room'],
    /^The disk of the mirror is full$/,
  ],
  ['a full disk of the tables', stuck('no_room'), 'blocked', ['no_room'], /full/],
  ['another program’s lock', stuck('busy'), 'blocked', ['tables_locked'], /write lock/],
  ['tables that fail', stuck('unreachable'), 'blocked', ['tables_stuck'], /why$/],
  [
    'refused credentials',
    blocked('credentials'),
    'blocked',
    ['credentials'],
    /store:443 refuses the credentials/,
  ],
  ['another store', blocked('wrong_store'), 'blocked', ['wrong_store'], /another store/],
  [
    'nothing listens',
    network('ECONNREFUSED'),
    'blocked',
    ['store_down'],
    /store:443 \(ECONNREFUSED\) cannot be read/,
  ],
  [
    'a 503',
    blocked('breaker', { failure: { kind: 'unavailable', status: 503, code: null } }),
    'blocked',
    ['store_down'],
    /answers 503/,
  ],
  [
    'a portal',
    blocked('breaker', { failure: { kind: 'contract', status: 200, code: null } }),
    'blocked',
    ['not_the_store'],
    /store:443 is not the store’s API/,
  ],
  ['a pause', blocked('rate_limited'), 'live', ['rate_limited'], /current/],
  ['a wrong clock', own({ clockAheadMs: 2 * 60 * MINUTE }), 'live', ['clock_wrong'], /current/],
  ['a clock of a proxy', own({ clockAheadMs: -9_999 }), 'live', [], /current/],
  ['requests turned away', own({ turnedAwayAtMs: NOW - 14 * MINUTE }), 'live', ['turned_away'], /current/],
  ['requests turned away long ago', own({ turnedAwayAtMs: NOW - 15 * MINUTE }), 'live', [], /current/],
  [
    'a signed request elsewhere',
    own({ misdirected: { reason: 'wrong_address', seen: 'POST /webhooks/', atMs: NOW } }),
    'live',
    ['misdirected'],
    /current/,
  ],
  ['too few reads', own({ growingSinceMs: NOW - 6 * MINUTE }), 'live', ['growing_doubt'], /current/],
  ['an old request', because('waiting'), 'blocked', ['overdue'], /15 min/],
  [
    'removals that wait for a decision',
    because('waiting', { held_removals: 1 }),
    'blocked',
    ['held_removals'],
    /1 removal waits for a decision/,
  ],
  ['few removals that have just begun to wait', status({ held_removals: 1 }), 'live', [], /current/],
  [
    'an old request, because of the store',
    { ...because('waiting'), ...network('ECONNRESET') },
    'blocked',
    ['store_down'],
    /ECONNRESET/,
  ],
  [
    'refused products',
    because('given_up', { parked_reads: 6 }),
    'blocked',
    ['refused_products'],
    /6 products/,
  ],
  [
    'two things: the urgent one first',
    { ...blocked('credentials'), ...stuck('busy') },
    'blocked',
    ['tables_locked', 'credentials'],
    /write lock/,
  ],
])('%s', (...[, over, name, kinds, headline]) => {
  const condition = conditionOf({ ...WELL, ...over });
  expect([condition.name, condition.causes.map(({ kind }) => kind)]).toEqual([name, kinds]);
  expect(condition.headline).toMatch(headline);
});

test.each([
  ['ECONNREFUSED', 'store'],
  ['UND_ERR_HEADERS_TIMEOUT', 'store'],
  ['ENOTFOUND', 'network'],
  ['UND_ERR_CONNECT_TIMEOUT', 'network'],
  ['UND_ERR_PRX_CONN', 'network'],
  ['CERT_HAS_EXPIRED', 'network'],
])('%s is a matter of the %s', (code, owner) => {
  expect(conditionOf({ ...WELL, ...network(code) }).causes[0]).toMatchObject({ owner });
});

test('each cause says whose it is, what it means and what to do, in one line', () => {
  const [cause] = conditionOf({ ...WELL, ...network('ECONNREFUSED') }).causes;
  if (cause === undefined) throw new Error('no cause');
  expect(causeLine(cause)).toBe(
    'The store at store:443 (ECONNREFUSED) cannot be read. The fault is the store’s. Webhooks are still applied, and suspect ' +
      'figures stay suspect until the store can be read again. What to do: nothing here: the mirror asks again by itself; if ' +
      'other machines reach the store, check the network',
  );
  expect(timesOf(cause, NOW)).toBe('for 60 s, next attempt in 4 s');
});

describe('the share of certain levels', () => {
  const shareOf = (over: Partial<Facts>) => conditionOf({ ...WELL, ...over }).certainty;

  test.each<[string, Partial<Facts>, number | null, string]>([
    ['all', {}, 1, '100 %'],
    ['one is not: never rounded up', status({ levels: 100_000, suspect_count: 1 }), 0.99999, '99.9 %'],
    ['a fifth is not', status({ levels: 14_905, suspect_count: 3_343 }), 0.775712, '77.5 %'],
    ['none', status({ suspect_count: 1_000 }), 0, '0 %'],
    ['nothing is mirrored', status({ levels: 0 }), null, 'not known'],
    ['a first read', status({ last_full_sync_at: null }), null, 'not known'],
    ['rows that stand still', stuck('busy'), null, 'not known'],
    ['no mirror', { serving: 'no' }, null, 'not known'],
    ['a store that is down: webhooks go on', network('ECONNREFUSED'), 1, '100 %'],
  ])('%s', (_what, over, share, text) => {
    const certainty = shareOf(over);
    expect([certainty.share, shareText(certainty)]).toEqual([share, text]);
  });
});

test('clocks differ only when three answers in a row agree that they do', () => {
  const skew = new ClockSkew();
  const note = (dateMs: number | null): number | null => {
    skew.note({ sentAtMs: NOW, receivedAtMs: NOW + 100, serverDateMs: dateMs });
    return skew.aheadMs;
  };
  expect([note(NOW - 60_000), note(NOW - 61_000), note(null)]).toEqual([null, null, null]);
  expect(note(NOW - 62_000)).toBe(59_000);
  // One answer from a cache, or the clock is set right.
  expect(note(NOW)).toBeNull();
});

test('re-read requests grow when each of five minutes has more of them at its least than the one before', () => {
  const growth = new GrowingBacklog();
  const minute = (number: number, pendingReads: number, reads: 'go on' | 'rest' = 'go on'): number | null => {
    const isReading = reads === 'go on';
    growth.look({ pendingReads, isReading }, NOW + number * MINUTE);
    growth.look({ pendingReads: pendingReads + 50, isReading }, NOW + number * MINUTE + 30_000);
    return growth.sinceMs;
  };
  for (const [number, pending] of [100, 110, 120, 130, 140, 150].entries())
    expect(minute(number, pending)).toBeNull();
  expect(minute(6, 160)).toBe(NOW + 1 * MINUTE);
  expect(minute(7, 100)).not.toBeNull();
  expect(minute(8, 100)).toBeNull();
  expect(minute(9, 100, 'rest')).toBeNull();
});
