import type { RefusalReason } from '../../../src/inbox/report.ts';
import { expect, test } from 'vitest';
import type { StateFacts } from '../../../src/mirror/queries/state-facts.ts';
import { CAUSE_CODES, causeOf } from '../../../src/ops/state/causes.ts';
import { ClockSkew } from '../../../src/ops/monitor.ts';
import { judge, stateOf, verdictOf, type Verdict, type ProcessFacts } from '../../../src/ops/state/state.ts';
import type { Blocked } from '../../../src/store-api/blocked.ts';
import type { PlainError } from '../../../src/sqlite/errors.ts';
import { STREAM } from '../reported.ts';
import { WELL_FILE, wellAt } from './well.ts';

type Facts = Parameters<typeof stateOf>[0];

const NOW = Date.UTC(2026, 8, 16, 12);
const MINUTE = 60_000;

const OWN = wellAt(NOW);
const WELL: Facts = { nowMs: NOW, file: WELL_FILE, own: OWN, pendingReads: 0 };

const file = (over: Partial<StateFacts>): Partial<Facts> => ({ file: { ...WELL_FILE, ...over } });
const own = (over: Partial<ProcessFacts>): Partial<Facts> => ({ own: { ...OWN, ...over } });
const refused = (reason: RefusalReason, minutes: number, seen: string | null = null) =>
  own({ refused: [{ reason, status: 400, count: 2, lastAtMs: NOW - minutes * MINUTE, seen }] });
const missing = (over: Partial<StateFacts> = {}) =>
  file({
    wayIn: 'missing',
    wayInSinceMs: NOW - MINUTE,
    lastWebhookAtMs: NOW - 10 * MINUTE,
    untold: UNTOLD,
    ...over,
  });
const blocking = (kind: Blocked['kind'], failure?: Partial<NonNullable<Blocked['failure']>>): Blocked => ({
  kind,
  message: 'its words',
  sinceMs: NOW - MINUTE,
  at: 'store:443',
  ...(failure && { failure: { kind: 'unavailable', status: null, code: null, ...failure } }),
});
const blocked = (...of: Parameters<typeof blocking>) => own({ blocked: blocking(...of) });
const stream = (over: Partial<ProcessFacts['stream']>) =>
  own({
    stream: { ...STREAM, ...over },
  });
const verified = (products: number, maxReadsPerSecond: number): Partial<Facts> => ({
  ...file({ products }),
  ...own({ verification: { withinMs: 2 * 60 * MINUTE, maxReadsPerSecond } }),
});
const HOUR = 60 * MINUTE;
const BOUND = { withinMs: 2 * HOUR, maxReadsPerSecond: 10 };
const lastReads = (agoMs: number, over: Partial<ProcessFacts> = {}) => ({
  ...file({ oldestReadAtMs: NOW - agoMs }),
  ...own({ verification: BOUND, ...over }),
});
const network = (code: string) => blocked('breaker', { code });
const commits = (ageMs: number, lastError: PlainError | null) =>
  own({ receiver: { lastGoodAtMs: NOW - ageMs, isStopped: false, lastError } });
const fault = (kind: PlainError['kind'], message = 'why.') =>
  own({ fault: { kind, message, sinceMs: NOW - 5_000 } });
const UNTOLD = { variantId: '100', warehouseId: '1', oldQty: 5, newQty: 4, shownAtMs: NOW - MINUTE };
const IO = { kind: 'cannot_commit', message: 'I/O' } as const;

test.each<[string, Partial<Facts>, `${Verdict['state']}${string}`, RegExp?]>([
  ['all is well', {}, 'live'],
  ['the rate just verifies every product', verified(72_000, 10), 'live'],
  [
    'the rate verifies the products too slowly',
    verified(100_000, 10),
    'live unchecked',
    /100,000 products at 10 reads a second, .* take 2\.8 h, not 2 h; 13\.9 reads a second would suffice/,
  ],
  ['a read as old as is tolerated', lastReads(2.2 * HOUR), 'live'],
  ['an older read', lastReads(2.2 * HOUR + 1), 'live unchecked', /within VERIFY_WITHIN_HOURS\. Values/],
  [
    'an older read, because of the store',
    lastReads(3 * HOUR, { blocked: blocking('breaker', { code: 'ECONNRESET' }) }),
    'live store_down unchecked',
    /VERIFY_WITHIN_HOURS: the store cannot be read\./,
  ],
  ['an old read while nothing is verified by schedule', file({ oldestReadAtMs: 0 }), 'live'],
  [
    'a first read',
    { ...file({ hasFullSync: false, hasUnread: true }), pendingReads: 80 },
    'catching_up first_read',
    /80 of 100 products wait/,
  ],
  [
    'a first read whose reads were counted before the list arrived',
    { ...file({ hasFullSync: false, hasUnread: true }), pendingReads: 0 },
    'catching_up first_read',
    /: products wait to be read\./,
  ],
  [
    'a first read whose list is unfinished',
    { ...file({ hasFullSync: false }), pendingReads: 0 },
    'catching_up first_read',
    /: none of the products listed so far \(100\) waits to be read\./,
  ],
  [
    'a first read without a product yet',
    { ...file({ hasFullSync: false, products: 0 }), pendingReads: null },
    'catching_up first_read',
    /: no product is listed yet\./,
  ],
  ['after downtime', file({ hasUnread: true }), 'catching_up downtime'],
  ['a file that is being opened', { file: null, ...own({ isReady: false }) }, 'stale starting'],
  ['a late heartbeat', own({ lateSinceMs: NOW - 11_000 }), 'stale stopped'],
  [
    'a late heartbeat because of the file',
    { file: null, ...own({ lateSinceMs: NOW - 11_000, ...fault('damaged').own }) },
    'stale mirror_failed',
  ],
  ['a start with much to apply', own({ isReady: false, behindSinceMs: NOW - 29_000 }), 'stale starting'],
  ['more than it keeps up with', own({ behindSinceMs: NOW - 30_000 }), 'stale apply_behind'],
  ['one failed commit', commits(2_499, IO), 'live'],
  ['commits fail', commits(2_500, IO), 'stale cannot_commit', /cannot be written: I\/O\./],
  ['a slow sync', commits(4_999, null), 'live'],
  ['a receiver that is stopped or hangs', commits(5_000, null), 'stale no_receiver'],
  [
    'a receiver that stopped in order',
    own({ receiver: { lastGoodAtMs: NOW - 300, isStopped: true, lastError: null } }),
    'stale no_receiver',
  ],
  ['a full disk', commits(2_500, { kind: 'no_room', message: '' }), 'stale disk_full'],
  ['a full disk of the mirror', fault('no_room'), 'stale disk_full'],
  ['another program’s lock', fault('busy'), 'stale mirror_locked', /: why\. Webhooks are kept/],
  ['a mirror that fails', fault('unreachable'), 'stale mirror_failed', /: why\. Webhooks are kept/],
  [
    'a mirror that cannot be read',
    { file: null, ...own({ isReady: false, ...fault('damaged').own }) },
    'stale mirror_failed',
  ],
  ['refused credentials', blocked('credentials'), 'stale credentials', /The store at store:443 refuses/],
  ['another store', blocked('wrong_store'), 'stale wrong_store'],
  [
    'nothing listens',
    network('ECONNREFUSED'),
    'live store_down',
    /store:443 cannot be read \(ECONNREFUSED\)/,
  ],
  ['a 503', blocked('breaker', { status: 503 }), 'live store_down', /answers 503/],
  ['no answer in time', network('UND_ERR_HEADERS_TIMEOUT'), 'live store_slow'],
  ['no such name', network('ENOTFOUND'), 'live store_unreachable'],
  ['no connection', network('UND_ERR_CONNECT_TIMEOUT'), 'live store_unreachable'],
  ['a proxy that fails', network('UND_ERR_PRX_CONN'), 'live store_unreachable'],
  ['a wrong certificate', network('CERT_HAS_EXPIRED'), 'live store_unreachable'],
  ['a sign-in page', blocked('breaker', { kind: 'contract', status: 200 }), 'live not_the_store'],
  ['a pause', blocked('rate_limited'), 'live rate_limited'],
  [
    'a silent stream',
    stream({ silentSinceMs: NOW - MINUTE, failure: 'timeout' }),
    'stale stream_silent',
    /\(timeout\)/,
  ],
  [
    'a delivery that the stream refuses',
    stream({ setAside: { atMs: NOW - MINUTE, requestId: 'r1', bytes: 1_500_000 } }),
    'live stream_refused',
  ],
  [
    'a delivery that the stream refused hours ago',
    stream({ setAside: { atMs: NOW - 61 * MINUTE, requestId: 'r1', bytes: 1_500_000 } }),
    'live',
  ],
  ['deliveries that wait', stream({ backlogSinceMs: NOW - MINUTE }), 'stale stream_backlog'],
  [
    'a start without a stream',
    own({ isReady: false, ...stream({ silentSinceMs: NOW - MINUTE }).own }),
    'stale stream_silent',
  ],
  ['a receiver', { file: null, ...own({ isMirror: false, isReady: false }) }, 'live'],
  [
    'a wrong clock',
    own({ clockAheadMs: 2 * 60 * MINUTE }),
    'live clock_wrong',
    /clock is 2 h ahead of the store/,
  ],
  ['a small difference', own({ clockAheadMs: -9_999 }), 'live'],
  ['requests refused', refused('no_room', 14), 'live requests_refused', /refused 2 requests without room/],
  [
    'a malformed request',
    refused('malformed_request', 1, 'HPE_LF_EXPECTED'),
    'live requests_refused',
    /not understood as HTTP\/1\.1 \(the last one: HPE_LF_EXPECTED\)/,
  ],
  [
    'requests refused by a receiver without a mirror, which reads nothing',
    { file: null, ...refused('wrong_signature', 1) },
    'live requests_refused',
    /their changes are missing\.$/,
  ],
  ['requests refused long ago', refused('no_room', 15), 'live'],
  ['authentic deliveries refused', refused('not_stored', 1), 'live'],
  ['no webhook was ever accepted', file({ wayIn: 'unproven' }), 'catching_up unproven'],
  [
    'no webhook was ever accepted, in a first read',
    file({ wayIn: 'unproven', hasFullSync: false }),
    'catching_up unproven first_read',
  ],
  ['a receiver', { file: null, ...own({ isMirror: false }) }, 'live'],
  [
    'webhooks that are missing',
    missing(),
    'stale webhooks_missing',
    /variant 100 in warehouse 1 went from 5 to 4 in the store, and no webhook reported it\./,
  ],
  [
    'webhooks that are refused',
    { ...missing(), ...refused('wrong_signature', 1) },
    'stale webhooks_missing',
    /reported it, while the receiver refused 2 requests with a wrong signature\./,
  ],
  [
    'webhooks that are missing, and requests refused before',
    { ...missing(), ...refused('wrong_signature', 11) },
    'stale webhooks_missing',
    /reported it\./,
  ],
  ['an old request', file({ isReadOverdue: true }), 'live reads_overdue'],
  ['held removals', file({ heldRemovals: 21 }), 'live held_removals', /shows 21 products, or/],
  [
    'an old request, because of the store',
    { ...file({ isReadOverdue: true }), ...network('ECONNRESET') },
    'live reads_overdue store_down',
  ],
  ['refused products', file({ givenUpReads: 6, givenUpLive: 6 }), 'stale refused_products', /6 products/],
  [
    'a refused product',
    file({ givenUpReads: 1, givenUpLive: 1 }),
    'live parked_reads',
    /^1 product cannot be read/,
  ],
  ['rows that cannot be listed', file({ listGap: 'at offset 160 (500)' }), 'live list_gap', /at offset 160/],
  [
    'two causes: the urgent one first',
    own({
      blocked: { kind: 'credentials', message: '', sinceMs: 0 },
      fault: { kind: 'busy', message: '', sinceMs: 0 },
    }),
    'stale mirror_locked credentials',
  ],
])('%s', (_what, over, expected, message = /./) => {
  const found = stateOf({ ...WELL, ...over });
  expect([found.state, ...found.causes.map(({ code }) => code)].join(' ')).toBe(expected);
  if (found.causes.length > 0) expect(found.causes.map((cause) => cause.message).join(' ')).toMatch(message);
});

test('dates the cause `unchecked` from the instant at which the first rows lost their trust', () => {
  const { causes } = stateOf({ ...WELL, ...lastReads(3 * HOUR) });
  expect(causes).toMatchObject([{ code: 'unchecked', since: NOW - 0.8 * HOUR }]);
});

test.each(CAUSE_CODES)('a stored cause %s is shown as it was written, or in general words', (code) => {
  const written = causeOf(code, NOW, { products: '5 products' });
  const general = causeOf(code, null);
  expect(verdictOf(JSON.stringify([written])).causes).toEqual([written]);
  expect(verdictOf(JSON.stringify([{ code }])).causes).toEqual([general]);
  expect(verdictOf(JSON.stringify([{ code }])).state).toBe(judge([general]).state);
});

test.each(CAUSE_CODES)(
  'the texts of %s do not lead to a document, which is no link where they are shown',
  (code) => {
    const { message, remedy } = causeOf(code, null);
    expect(`${message} ${remedy}`).not.toMatch(/\.md\b|docs\//);
  },
);

test('reports a clock difference after three answers in a row', () => {
  const skew = new ClockSkew();
  const note = (dateMs: number | null): number | null => {
    skew.note({ sentAtMs: NOW, receivedAtMs: NOW + 100, serverDateMs: dateMs });
    return skew.aheadMs;
  };
  expect([note(NOW - 60_000), note(NOW - 61_000), note(null)]).toEqual([null, null, null]);
  expect(note(NOW - 62_000)).toBe(59_000);
  // One answer shows that the clocks may agree; a cache never makes an answer younger.
  expect(note(NOW)).toBe(0);
  expect([note(NOW + 900), note(NOW - 1_200)]).toEqual([0, 0]);
  expect(note(NOW + 900)).toBeNull();
});
