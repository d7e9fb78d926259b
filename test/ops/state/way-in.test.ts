/** Proof that webhooks arrive (docs/operating.md#proof-of-the-way-in). */
import { expect, test } from 'vitest';
import { STORE_REFUSALS, type ReceiverReport, type StreamReport } from '../../../src/inbox/report.ts';
import { Reporting } from '../../../src/receiver/reporting.ts';
import { secretFingerprint, WayInProof } from '../../../src/receiver/way-in-proof.ts';
import { Monitor } from '../../../src/ops/monitor.ts';
import { delivery, detail, item, readInput, T0 } from '../../mirror/mirror-file.ts';
import { log, newDatabases, type DirectDatabases } from '../../reconcile/mirror.ts';
import { heartbeat, STREAM } from '../reported.ts';

interface Process {
  readonly accept: () => void;
  readonly refuse: (reason: (typeof STORE_REFUSALS)[number], ...variantIds: readonly string[]) => void;
  /** The inbox says what may have been missed. */
  readonly noteMissed: () => void;
  /** @param stream what the other hosts have shown; null: there are none. */
  readonly shown: (stream?: Partial<StreamReport> | null) => Promise<string>;
}

interface Inbox {
  provenSecret: string | null;
}

/** A receiver with this secret, null if it has no public port, and a mirror's watch of it. */
function processOver(
  databases: DirectDatabases,
  secret: string | null,
  { inbox = { provenSecret: null } }: { inbox?: Inbox } = {},
): Process {
  const monitor = new Monitor();
  const operator = { blocked: null, verificationBound: null };
  const watch = monitor.watch({
    databases,
    sampler: null,
    operator,
    hasStream: true,
    now: Date.now,
    log,
  });
  const reporting = new Reporting(Date.now);
  const proof = secret === null ? null : new WayInProof([secret], 'inbox');
  reporting.provenSecret = proof?.kept(inbox.provenSecret) ?? null;
  reporting.listeningSinceMs = secret === null ? null : Date.now();
  const shown: Process['shown'] = async (stream = null) => {
    const report: ReceiverReport = reporting.report(0, stream && { ...STREAM, ...stream });
    monitor.receive(heartbeat(Date.now(), report));
    await watch.state.beat(Date.now());
    const [row] = databases.rows<{ state: string; cause: string | null; trusted: number }>(
      'SELECT state, state_cause AS cause, (SELECT max(trusted) FROM mirror_sellable) AS trusted FROM mirror_status',
    );
    return `${row?.state} ${row?.cause} ${row?.trusted}`;
  };
  return {
    accept: () => {
      inbox.provenSecret = proof?.after(reporting.provenSecret, [{ secret }]) ?? null;
      reporting.provenSecret = inbox.provenSecret;
      reporting.accepted({ tookMs: 1, isTest: false });
    },
    refuse: (reason, ...variantIds) =>
      reporting.refused({
        reason,
        status: 401,
        tookMs: 1,
        seen: 'POST /',
        body: delivery('x', ...variantIds.map((id) => item({ id }))),
      }),
    noteMissed: () => {
      reporting.refusedRequests.followed = [];
    },
    shown,
  };
}

async function filled(): Promise<DirectDatabases> {
  const databases = newDatabases();
  await databases.writer.append(
    readInput('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), { sentAtMs: T0 }),
  );
  databases.change('UPDATE service_state SET last_full_sync_at_ms = 1');
  return databases;
}

const LIVE = 'live null 1';
const UNPROVEN = 'catching_up unproven 0';
const REFUSING = 'stale webhooks_refused 0';

test('a mirror is not live before a webhook was accepted, and stays proven over restarts', async () => {
  const databases = await filled();
  const inbox: Inbox = { provenSecret: null };
  const first = processOver(databases, 'secret', { inbox });
  expect(await first.shown()).toBe(UNPROVEN);
  first.accept();
  expect(await first.shown()).toBe(LIVE);
  expect(await processOver(databases, 'secret', { inbox }).shown()).toBe(LIVE);
  expect(await processOver(await filled(), 'secret', { inbox }).shown()).toBe(LIVE);
  expect(await processOver(databases, 'secret').shown()).toBe(UNPROVEN);
});

test('another secret must be proven too', async () => {
  const databases = await filled();
  const inbox: Inbox = { provenSecret: null };
  const first = processOver(databases, 'secret', { inbox });
  first.accept();
  expect(await first.shown()).toBe(LIVE);
  const changed = processOver(databases, 'other', { inbox });
  expect(await changed.shown()).toBe(UNPROVEN);
  changed.accept();
  expect(await changed.shown()).toBe(LIVE);
  expect(await processOver(databases, 'secret', { inbox }).shown()).toBe(UNPROVEN);
});

test.each(STORE_REFUSALS)(
  'refused requests (%s) make the mirror stale if they name its variants, until one is accepted',
  async (reason) => {
    const { accept, refuse, noteMissed, shown } = processOver(await filled(), 'secret');
    refuse(reason, '7');
    expect(await shown()).toBe(UNPROVEN);
    refuse(reason, '100');
    expect(await shown()).toBe(REFUSING);
    refuse(reason, '7');
    expect(await shown()).toBe(REFUSING);
    accept();
    expect(await shown()).toBe(REFUSING);
    noteMissed();
    expect(await shown()).toBe(LIVE);
    refuse(reason, '7');
    expect(await shown()).toBe(LIVE);
    refuse(reason, '100');
    expect(await shown()).toBe(REFUSING);
  },
);

test('requests of strangers that name many variants do not hide that the store is refused', async () => {
  const { accept, refuse, noteMissed, shown } = processOver(await filled(), 'secret');
  const many = Array.from({ length: 20 }, (_, at) => String(7_000 + at));
  accept();
  refuse('wrong_signature', '100');
  expect(await shown()).toBe(REFUSING);
  refuse('wrong_signature', ...many);
  refuse('missing_signature', ...many);
  expect(await shown()).toBe(REFUSING);
  accept();
  refuse('wrong_signature', ...many);
  noteMissed();
  expect(await shown()).toBe(LIVE);
});

test('what other hosts of the stream have refused counts too', async () => {
  const { accept, shown } = processOver(await filled(), 'secret');
  accept();
  const refused = (id: string) => ({
    refusedWebhooks: [
      { reason: 'wrong_signature' as const, count: 1, sinceMs: T0, seen: null, variantIds: [id] },
    ],
  });
  expect(await shown(refused('7'))).toBe(LIVE);
  expect(await shown(refused('100'))).toBe(REFUSING);
  expect(await shown({})).toBe(LIVE);
});

test('a test delivery proves nothing', () => {
  const reporting = new Reporting(Date.now);
  reporting.accepted({ tookMs: 1, isTest: true });
  expect(reporting.report(0, null).accepted).toEqual({ count: 0, lastAtMs: null });
});

test('a variant that no read has shown is not known', async () => {
  const databases = await filled();
  await databases.deliver(delivery('a', item({ id: '999' })), T0);
  const { refuse, shown } = processOver(databases, 'secret');
  refuse('wrong_signature', '999');
  expect(await shown()).toBe(UNPROVEN);
});

test('a host without a public port is proven while another host has a proof', async () => {
  const { shown } = processOver(await filled(), null);
  expect(await shown({})).toBe(UNPROVEN);
  expect(await shown({ isProven: true })).toBe(LIVE);
  expect(await shown({ isProven: false })).toBe(UNPROVEN);
});

test('a host with a port is proven by webhooks that other hosts have accepted since its start', async () => {
  const { shown } = processOver(await filled(), 'secret');
  expect(await shown({ isProven: true })).toBe(UNPROVEN);
  expect(await shown({ acceptedAtMs: Date.now() })).toBe(LIVE);
});

test.each([null, 'secret'])(
  'a delivery of the stream proves nothing, because it may be a test (secret: %s)',
  async (secret) => {
    const databases = await filled();
    const { shown } = processOver(databases, secret);
    await databases.deliver(delivery('a', item({ id: '999' })), Date.now() + 1_000);
    expect(await shown({})).toBe(UNPROVEN);
  },
);

test('while one secret replaces another, a proof counts for the secret that signed', () => {
  const [old, present] = ['old', 'present'].map((secret) => secretFingerprint(secret, 'inbox'));
  const both = new WayInProof(['present', 'old'], 'inbox');
  expect(both.kept(old ?? '')).toBe(old);
  expect(both.after(null, [{ secret: null }, { secret: 'old' }])).toBe(old);
  expect(both.after(old ?? '', [{ secret: 'old' }, { secret: 'present' }])).toBe(present);
  expect(both.after(present ?? '', [{ secret: 'old' }])).toBe(present);
  expect(new WayInProof(['present'], 'inbox').kept(old ?? '')).toBeNull();
});

test('the file holds no secret, and another text for each inbox', () => {
  const one = secretFingerprint('secret', 'inbox');
  expect(one).toMatch(/^[0-9a-f]{32}$/);
  expect(secretFingerprint('secret', 'inbox')).toBe(one);
  expect(secretFingerprint('Secret', 'inbox')).not.toBe(one);
  expect(secretFingerprint('secret', 'other')).not.toBe(one);
});
