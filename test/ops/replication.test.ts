/** How machines that share an event log stand to each other, on the page, in the API and in words. */
import type { HttpBindings } from '@hono/node-server';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { replicationTrouble, type ReplicationView } from '../../src/ops/condition/replication.ts';
import { createReplicationGauges } from '../../src/ops/metrics/replication-gauges.ts';
import { createMirrorlessApp } from '../../src/ops/mirrorless-app.ts';
import { machinesView } from '../../src/ops/page/machines-view.ts';

const NOW = Date.UTC(2026, 8, 16, 12);
/** As the listener tells it. */
const FROM_HERE = { incoming: { socket: { remoteAddress: '127.0.0.1' } } } as unknown as HttpBindings;
const NOBODY = { receivers: [], replicas: [] };
const VIEW: ReplicationView = {
  name: 'here',
  origin: 'nats://one:4222',
  receiver: null,
  replica: { left: 0, behind_ms: 200, is_up_to_date: true, trouble: null, trouble_ms: null },
  lead: { is_leading: false },
  members: NOBODY,
};
const replica = (over: Partial<NonNullable<ReplicationView['replica']>>): Partial<ReplicationView> => ({
  replica: { left: 0, behind_ms: 200, is_up_to_date: true, trouble: null, trouble_ms: null, ...over },
});
const receiver = (backlog: number, ageMs: number, trouble: string | null): Partial<ReplicationView> => ({
  receiver: { backlog, backlog_age_ms: ageMs, trouble },
});
const heardOf = (name: string, backlog: number, ageMs: number): Partial<ReplicationView> => ({
  members: { ...NOBODY, receivers: [{ name, backlog, backlog_age_ms: ageMs }] },
});

test.each<[string, Partial<ReplicationView>, RegExp[]]>([
  ['all is well', {}, []],
  ['cut off for a moment', replica({ trouble: 'no answer', behind_ms: 4_000 }), []],
  [
    'cut off',
    replica({ trouble: 'no answer', behind_ms: 6_000 }),
    [/^This replica cannot follow .*: no answer$/],
  ],
  [
    'never reached since the start',
    replica({ trouble: 'no answer', behind_ms: null, trouble_ms: 6_000 }),
    [/^This replica cannot/],
  ],
  ['just started', replica({ trouble: 'no answer', behind_ms: null, trouble_ms: 4_000 }), []],
  [
    'in trouble for a moment, after a long catch-up',
    replica({ trouble: 'x', behind_ms: null, trouble_ms: 0 }),
    [],
  ],
  ['catching up is no trouble', replica({ left: 9_000, behind_ms: 60_000 }), []],
  ['no replica', { replica: null }, []],
  ['a receiver that forwards', receiver(20, 14_000, null), []],
  [
    'a receiver that cannot',
    receiver(2_000, 16_000, 'no answer'),
    [/^2,000 .* outbox of here .*: no answer$/],
  ],
  ['another receiver, which others have heard of', heardOf('there', 3, 20_000), [/^3 .* outbox of there /]],
  ['one’s own is not told twice', { ...receiver(0, 0, null), ...heardOf('here', 3, 20_000) }, []],
  ['nothing waits, whatever the age says', receiver(0, 99_000, null), []],
  [
    'both',
    { ...replica({ trouble: 'x', behind_ms: 6_000 }), ...receiver(1, 16_000, 'x') },
    [/^This replica/, /^1 deliveries/],
  ],
])('trouble: %s', (_what, over, expected) => {
  const found = replicationTrouble({ ...VIEW, ...over }, NOW);
  expect(found.map(({ cause }) => cause)).toEqual(
    expected.map((words) => expect.stringMatching(words) as string),
  );
});

test('trouble says since when, as far as is known', () => {
  const [cut] = replicationTrouble({ ...VIEW, ...replica({ trouble: 'x', behind_ms: 6_000 }) }, NOW);
  expect(cut).toMatchObject({ kind: 'cut_off', owner: 'network', since: NOW - 6_000 });
  const [late] = replicationTrouble({ ...VIEW, ...receiver(1, 16_000, null) }, NOW);
  expect(late).toMatchObject({ kind: 'not_forwarded', since: NOW - 16_000 });
});

/** The text of a page's part. */
const text = async (view: ReplicationView | null): Promise<string> =>
  String(await machinesView(view))
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

test('the page lists who is heard of, and how each stands', async () => {
  const members = {
    receivers: [
      { name: 'r1', backlog: 0, backlog_age_ms: 0 },
      { name: 'r2', backlog: 1_200, backlog_age_ms: 20_000 },
    ],
    replicas: [
      { name: 'a', last_seq: 1_234, is_up_to_date: true, is_leading: true },
      { name: '<b>', last_seq: 9, is_up_to_date: false, is_leading: false },
    ],
  };
  const shown = await text({ ...VIEW, members });
  expect(shown).toContain('r1 receives webhooks all forwarded');
  expect(shown).toMatch(/r2 receives webhooks 1,200 to forward, the oldest for 20/);
  expect(shown).toMatch(/a keeps a mirror, and reads from the store up to date, entry 1,234/);
  expect(shown).toMatch(/&lt;b&gt; keeps a mirror behind, entry 9/);
});

test.each<[string, ReplicationView | null, RegExp]>([
  ['one machine', null, /^$/],
  ['nobody is heard of', { ...VIEW, replica: null }, /None is heard of at present/],
  ['a copy of a primary', VIEW, /here keeps a mirror up to date/],
  ['a copy that is cut off', { ...VIEW, ...replica({ trouble: 'no answer' }) }, /cut off: no answer/],
  ['a copy that catches up', { ...VIEW, ...replica({ left: 3 }) }, /behind, 3 entries are not here yet/],
])('the page of %s', async (_what, view, expected) => {
  expect(await text(view)).toMatch(expected);
});

test('gauges show what is of this process, and NaN where something is not', async () => {
  const registry = new Registry();
  let view: ReplicationView = { ...VIEW, ...receiver(3, 1_500, null), ...heardOf('there', 0, 0) };
  createReplicationGauges(registry, () => view);
  const figure = async (name: string) =>
    (await registry.getSingleMetric(`stock_mirror_${name}`)?.get())?.values[0]?.value;
  expect(await figure('outbox_entries')).toBe(3);
  expect(await figure('outbox_age_seconds')).toBe(1.5);
  expect(await figure('replica_behind_seconds')).toBe(0.2);
  expect(await figure('leading')).toBe(0);
  expect(await figure('known_receivers')).toBe(1);
  view = { ...VIEW, replica: null, lead: null };
  expect(await figure('outbox_entries')).toBeNaN();
  expect(await figure('replica_entries_left')).toBeNaN();
  expect(await figure('leading')).toBeNaN();
});

test('without a mirror its own figures are shown, guarded, and all else says why there is none', async () => {
  const registry = new Registry();
  createReplicationGauges(registry, () => VIEW);
  let why = 'the mirror is being opened';
  const app = createMirrorlessApp({
    token: 'a-long-enough-token',
    metrics: registry,
    now: () => NOW,
    log: pino({ level: 'silent' }),
    replication: () => VIEW,
    why: () => why,
  });
  const ask = (path: string, token = 'a-long-enough-token') =>
    Promise.resolve(
      app.request(`http://127.0.0.1${path}`, { headers: { authorization: `Bearer ${token}` } }, FROM_HERE),
    );
  expect((await ask('/api/replication', 'wrong')).status).toBe(401);
  expect(await (await ask('/api/replication')).json()).toEqual(JSON.parse(JSON.stringify(VIEW)));
  expect(await (await ask('/metrics')).text()).toContain('stock_mirror_leading 0');
  why = 'it waits for a snapshot';
  for (const path of ['/', '/readyz', '/api/status', '/api/stock?sku=1']) {
    const answer = await ask(path);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({ error: 'unavailable', error_description: why });
  }
});
