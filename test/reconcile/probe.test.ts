/** Hints cost reads, answers decide (docs/architecture.md#the-way-in). */
import { expect, test } from 'vitest';
import type { Claim } from '../../src/core/input.ts';
import { reportedSince, type RefusalReason } from '../../src/inbox/report.ts';
import { present } from '../shared/present.ts';
import { delivery } from '../mirror/mirror-file.ts';
import { heartbeat, REPORT } from '../ops/reported.ts';
import { fakeService, newDatabases, newReconciler, productIds, recordFirstRead } from './mirror.ts';
import { virtualTime } from '../shared/virtual-time.ts';

const S = 1_000;
const MINUTE = 60 * S;
/** Without a webhook for this long, a store with a webhook a second is silent. */
const SILENCE = 30 * S;

async function setUp({ products = 40, maxRps = 50 } = {}) {
  const { now, eventually, pass } = virtualTime();
  const databases = newDatabases();
  const service = fakeService(now, productIds(products));
  const reconciler = newReconciler({ mirror: databases.mirror, client: service, now, maxRps });
  reconciler.start();
  await reconciler.resync(null, null);
  await eventually(() => databases.rows('SELECT 1 FROM products WHERE read_at_ms > 0').length === products, {
    what: 'everything is read',
  });
  await recordFirstRead(databases, now());
  await pass(5 * S);
  let report = REPORT;
  let isListening = true;
  /** Time passes, with a heartbeat each second. */
  const live = async (ms: number): Promise<void> => {
    for (const untilMs = now() + ms; now() < untilMs;) {
      if (isListening) reconciler.heard(heartbeat(now()), reportedSince(report, report), null);
      await pass(S);
    }
  };
  const refuse = (reason: RefusalReason, ...claims: Claim[]): void => {
    const before = report;
    const count = (before.refused[0]?.count ?? 0) + 1;
    const seq = before.claims.at(-1)?.seq ?? 0;
    report = {
      ...before,
      refused: [{ reason, status: 401, count, lastAtMs: now(), seen: null }],
      claims: claims.map((claim, at) => ({ ...claim, seq: seq + at + 1 })),
    };
    reconciler.heard(heartbeat(now(), report), reportedSince(before, report), null);
  };
  let webhooks = 0;
  /** A webhook of the store that changes nothing. */
  const accept = (): Promise<unknown> => {
    webhooks += 1;
    return databases.deliver(delivery(`w${webhooks}`), now());
  };
  const asked = (): string[] => service.asked.splice(0).filter((each) => !each.startsWith('list'));
  asked();
  return {
    now,
    databases,
    service,
    live,
    refuse,
    accept,
    asked,
    stopListening: () => void (isListening = false),
    wayIn: () => databases.mirror.ask('wayIn'),
    barrier: () =>
      present(databases.rows<{ ms: number }>('SELECT trusted_after_ms AS ms FROM mirror_state')[0]).ms,
  };
}

const claimOf = (productId: string, newQty: number): Claim => ({
  variantId: `${productId}01`,
  warehouseId: '5',
  newQty,
});

test('reads the products that a refused request names, and proves that webhooks are missing if the store confirms the claim', async () => {
  const { service, live, refuse, asked, accept, wayIn, barrier } = await setUp();
  await accept();
  const [first = '', second = ''] = service.ids;
  service.quantities.set(first, 6);
  const before = barrier();
  refuse('wrong_signature', claimOf(first, 6), claimOf(second, 3));
  await live(4 * S);
  expect(asked()).toEqual([first, second]);
  expect((await wayIn()).wayIn).toBe('proven');
  await live(6 * S);
  expect(await wayIn()).toMatchObject({ wayIn: 'missing', untold: { oldQty: 7, newQty: 6 } });
  expect(barrier()).toBe(before);
  // Nothing is left to prove.
  asked();
  refuse('wrong_signature', claimOf(second, 3));
  await live(2 * MINUTE);
  expect(asked()).toEqual([]);
  await accept();
  expect((await wayIn()).wayIn).toBe('proven');
  expect(barrier()).toBeGreaterThan(before);
});

test('strangers who name known variants cause fewer and fewer reads, and nothing else', async () => {
  const { service, live, refuse, asked, accept, wayIn, barrier } = await setUp();
  const before = barrier();
  const probes: number[] = [];
  for (let second = 0; second < 8 * 60; second += 1) {
    for (let n = 0; n < 5; n += 1) {
      const id = service.ids[(second * 5 + n) % service.ids.length] ?? '';
      refuse('missing_signature', claimOf(id, n));
    }
    await accept();
    await live(S);
    if (asked().length > 0 && second - (probes.at(-1) ?? -20) > 10) probes.push(second);
  }
  expect(probes.length).toBeLessThanOrEqual(5);
  expect(await wayIn()).toMatchObject({ wayIn: 'proven', untold: null });
  expect(barrier()).toBe(before);
});

test('ids that no read has shown order a probe of the latest changes, as a request without a body does', async () => {
  const { live, refuse, asked } = await setUp();
  refuse('wrong_signature', { variantId: '123', warehouseId: '1', newQty: 1 });
  await live(20 * S);
  expect(asked().length).toBe(3 * 20 + 40);
  refuse('wrong_protocol');
  await live(8 * S);
  expect(asked().length).toBe(0);
  await live(30 * S);
  expect(asked().length).toBe(3 * 20 + 40);
});

test('an authentic delivery that was refused is no hint: it was written down', async () => {
  const { live, refuse, asked } = await setUp();
  refuse('not_stored');
  await live(5 * S);
  expect(asked()).toEqual([]);
});

test('an unusual silence is probed when it begins, with growing pauses, and when it ends', async () => {
  const { live, accept, asked } = await setUp();
  const readsOf = async (ms: number): Promise<number> => {
    await live(ms);
    return asked().length;
  };
  await accept();
  expect(await readsOf(SILENCE - 2 * S)).toBe(0);
  const probe = 3 * 20 + 40;
  expect(await readsOf(20 * S)).toBe(probe);
  // 30 s, one, two and four minutes after the probes before, with which they compare.
  expect(await readsOf(8 * MINUTE)).toBe(4 * 40);
  await accept();
  expect(await readsOf(20 * S)).toBe(probe);
  await accept();
  expect(await readsOf(20 * S)).toBe(0);
});

test('a silence in which the store changes is proven, and the next webhook ends it', async () => {
  const { service, live, accept, wayIn, barrier } = await setUp();
  await accept();
  const before = barrier();
  await live(SILENCE + 4 * S);
  service.quantities.set(service.ids.at(-3) ?? '', 1);
  await live(20 * S);
  expect((await wayIn()).wayIn).toBe('missing');
  await accept();
  expect((await wayIn()).wayIn).toBe('proven');
  expect(barrier()).toBeGreaterThan(before);
});

test('a probe that finds a lost webhook is followed by the next one at once', async () => {
  const { service, live, accept, asked, wayIn } = await setUp();
  await accept();
  service.quantities.set(service.ids.at(-3) ?? '', 1);
  await live(SILENCE + 12 * S);
  expect(asked().length).toBeGreaterThan(3 * 20 + 40);
  await live(8 * S);
  expect(asked().length).toBeLessThan(40);
  await live(8 * S);
  expect(asked()).toEqual([]);
  expect(await wayIn()).toMatchObject({ wayIn: 'proven', untold: null });
});

test('a silence while no receiver listens is no hint', async () => {
  const { live, accept, asked, stopListening } = await setUp();
  await accept();
  await live(10 * S);
  stopListening();
  await live(2 * MINUTE);
  expect(asked()).toEqual([]);
});

test('a probe keeps to ten reads a second, and to a fifth of the rate', async () => {
  const { live, accept, asked } = await setUp({ maxRps: 10 });
  await accept();
  await live(SILENCE);
  asked();
  await live(10 * S);
  expect(asked().length).toBeLessThanOrEqual(21);
});
