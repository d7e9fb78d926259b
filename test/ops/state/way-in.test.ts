/** Proof that webhooks arrive (docs/operating.md#proof-of-the-way-in). */
import { expect, test } from 'vitest';
import type { ReceiverReport } from '../../../src/inbox/report.ts';
import { Reporting } from '../../../src/receiver/reporting.ts';
import { Monitor } from '../../../src/ops/monitor.ts';
import { fingerprintOf, isFingerprintOf } from '../../../src/ops/state/way-in.ts';
import { delivery, detail, item, readInput, T0 } from '../../mirror/mirror-file.ts';
import { log, newStore, type OpenedStore } from '../../reconcile/mirror.ts';
import { heartbeat } from '../reported.ts';

interface Process {
  readonly accept: () => void;
  readonly refuse: (reason: 'wrong_signature' | 'wrong_address', variantId: string) => void;
  readonly shown: () => Promise<string>;
}

/** A receiver and the mirror's watch of it, in a process with this secret. */
function processOver(store: OpenedStore, webhookSecret: string): Process {
  const monitor = new Monitor();
  const operator = { blocked: null, verificationBound: null };
  const watch = monitor.watch({
    store,
    sampler: null,
    operator,
    hasStream: false,
    now: Date.now,
    log,
    webhookSecret,
  });
  const reporting = new Reporting(Date.now);
  const shown = async (): Promise<string> => {
    const report: ReceiverReport = reporting.take(0, null);
    monitor.receive(heartbeat(Date.now(), report));
    await watch.state.beat(Date.now() + 60_000);
    const [row] = store.rows<{ state: string; cause: string | null; trusted: number }>(
      'SELECT state, state_cause AS cause, (SELECT max(trusted) FROM mirror_sellable) AS trusted FROM mirror_status',
    );
    return `${row?.state} ${row?.cause} ${row?.trusted}`;
  };
  return {
    accept: () => reporting.accepted({ tookMs: 1, isTest: false }),
    refuse: (reason, variantId) =>
      reporting.refused({
        reason,
        status: 401,
        tookMs: 1,
        seen: 'POST /',
        body: delivery('x', item({ id: variantId })),
      }),
    shown,
  };
}

async function filled(): Promise<OpenedStore> {
  const store = newStore();
  await store.writer.append(
    readInput('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), { sentAtMs: T0 }),
  );
  store.change('UPDATE service_state SET last_full_sync_at_ms = 1');
  return store;
}

const LIVE = 'live null 1';
const UNPROVEN = 'catching_up unproven 0';
const REFUSING = 'stale webhooks_refused 0';

test('a mirror is not live before a webhook was accepted, and stays proven over restarts', async () => {
  const store = await filled();
  const first = processOver(store, 'secret');
  expect(await first.shown()).toBe(UNPROVEN);
  first.accept();
  expect(await first.shown()).toBe(LIVE);
  expect(await processOver(store, 'secret').shown()).toBe(LIVE);
});

test('another secret must be proven too', async () => {
  const store = await filled();
  const first = processOver(store, 'secret');
  first.accept();
  expect(await first.shown()).toBe(LIVE);
  const changed = processOver(store, 'other');
  expect(await changed.shown()).toBe(UNPROVEN);
  changed.accept();
  expect(await changed.shown()).toBe(LIVE);
  expect(await processOver(store, 'secret').shown()).toBe(UNPROVEN);
});

test.each(['wrong_signature', 'wrong_address'] as const)(
  'refused requests (%s) make the mirror stale if they name its variants, until one is accepted',
  async (reason) => {
    const { accept, refuse, shown } = processOver(await filled(), 'secret');
    refuse(reason, '7');
    expect(await shown()).toBe(UNPROVEN);
    refuse(reason, '100');
    expect(await shown()).toBe(REFUSING);
    refuse(reason, '7');
    expect(await shown()).toBe(REFUSING);
    accept();
    expect(await shown()).toBe(LIVE);
    refuse(reason, '7');
    expect(await shown()).toBe(LIVE);
    refuse(reason, '100');
    expect(await shown()).toBe(REFUSING);
  },
);

test('a test delivery proves nothing', () => {
  const reporting = new Reporting(Date.now);
  reporting.accepted({ tookMs: 1, isTest: true });
  expect(reporting.take(0, null).accepted).toEqual({ count: 0, lastAtMs: null });
});

test('a variant that no read has shown is not known', async () => {
  const store = await filled();
  await store.deliver(delivery('a', item({ id: '999' })), T0);
  const { refuse, shown } = processOver(store, 'secret');
  refuse('wrong_signature', '999');
  expect(await shown()).toBe(UNPROVEN);
});

test('the file holds a salted hash of the secret', async () => {
  const [one, other] = [await fingerprintOf('secret'), await fingerprintOf('secret')];
  expect(one).toMatch(/^[0-9a-f]{32}:[0-9a-f]{32}$/);
  expect(one).not.toBe(other);
  expect(await isFingerprintOf('secret', one)).toBe(true);
  expect(await isFingerprintOf('secret', other)).toBe(true);
  expect(await isFingerprintOf('Secret', one)).toBe(false);
  expect(await isFingerprintOf('secret', '')).toBe(false);
});
