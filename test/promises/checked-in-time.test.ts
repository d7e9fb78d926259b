/**
 * Promise 6: no value stays unchecked for longer than VERIFY_WITHIN_HOURS. The real reconciler reads a store on virtual
 * time. A bound of 6 min stands for one of 1 h with ten times as many products.
 */
import { expect, test } from 'vitest';
import { checkedSinceMs } from '../../src/ops/state/verification-cause.ts';
import { present } from '../shared/present.ts';
import {
  appendListed,
  fakeService,
  newDatabases,
  newReconciler,
  productIds,
  serviceError,
} from '../reconcile/mirror.ts';
import { virtualTime } from '../shared/virtual-time.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const BOUND = HOUR / 10;
/** The schedule aims at nine tenths of the bound. */
const PER_MINUTE = 1 / (0.9 * 6);

interface Store {
  readonly products: number;
  readonly reconcileCron?: string | null;
  readonly boundMs?: number;
  readonly maxRps?: number;
}

function setUp({ products, reconcileCron = '*/5 * * * *', boundMs = BOUND, maxRps = 50 }: Store) {
  const { now, eventually, pass } = virtualTime();
  const databases = newDatabases();
  const service = fakeService(now, productIds(products));
  const reconciler = newReconciler({
    mirror: databases.mirror,
    client: service,
    now,
    maxRps,
    schedules: { reconcileCron, verifyWithinHours: boundMs / HOUR, resyncCron: null, timezone: 'UTC' },
  });
  const oldestMs = (): number => {
    const oldest = databases.rows<{ atMs: number }>('SELECT min(read_at_ms) AS atMs FROM products');
    return now() - present(oldest[0]).atMs;
  };
  /** @returns the number of reads meanwhile. */
  const readsIn = async (ms: number): Promise<number> => {
    const before = service.asked.length;
    await pass(ms);
    return service.asked.length - before;
  };
  /** @returns the number of reads meanwhile. */
  const keepsFor = async (ms: number): Promise<number> => {
    let reads = 0;
    for (let passedMs = 0; passedMs < ms; passedMs += 5 * SECOND) {
      reads += await readsIn(5 * SECOND);
      expect(oldestMs()).toBeLessThan(boundMs);
    }
    return reads;
  };
  const readFirst = async (): Promise<void> => {
    reconciler.start();
    const isDone = () => databases.rows(`SELECT 1 FROM runs WHERE state = 'done'`).length > 0;
    await eventually(isDone, { what: 'the first read' });
  };
  return { now, eventually, databases, service, oldestMs, readsIn, keepsFor, readFirst };
}

test.each([
  { products: 20, reconcileCron: '* * * * *' },
  { products: 200, reconcileCron: '*/5 * * * *' },
  // Three quarters of the reads that the schedule may cause.
  { products: 1_000, reconcileCron: '*/3 * * * *', maxRps: 20 },
])('reads each product in time, evenly, from the first start on: %o', async (store) => {
  const { readFirst, keepsFor } = setUp(store);
  await readFirst();
  const perMinute = store.products * PER_MINUTE;
  for (let minute = 0; minute < 7; minute += 1) {
    const reads = await keepsFor(MINUTE);
    expect(Math.abs(reads - perMinute)).toBeLessThan(2);
  }
});

test('reads each product in time after an import of many', async () => {
  const { readFirst, keepsFor, now, databases, service, eventually } = setUp({ products: 50 });
  await readFirst();
  await keepsFor(MINUTE);
  service.ids = productIds(600);
  await appendListed(databases, service.ids, now());
  const areRead = () => databases.rows('SELECT 1 FROM products WHERE read_at_ms < 0').length === 0;
  await eventually(areRead, { what: 'the first reads of the new products' });
  await keepsFor(1.2 * BOUND);
});

const webhook = (productId: string, change: { old: number; new: number }, atMs: number): Uint8Array =>
  Buffer.from(
    JSON.stringify({
      request_id: `${productId} at ${atMs}`,
      event_type: 'stock_available_updated',
      request_time: atMs,
      data: {
        items: [
          {
            id: `${productId}01`,
            sku: '',
            ...change,
            warehouse_id: '5',
            update_time: atMs,
            reason: 'user_set',
          },
        ],
      },
    }),
  );

test.each([
  { reconcileCron: '*/5 * * * *', usual: 120 * PER_MINUTE },
  { reconcileCron: null, usual: 0 },
])('reads everything again at once after a loss, then as before: %o', async ({ reconcileCron, usual }) => {
  const { readFirst, readsIn, oldestMs, now, databases, service } = setUp({ products: 120, reconcileCron });
  await readFirst();
  const isUsual = (reads: number): boolean => Math.abs(reads - usual) < 2;
  expect(await readsIn(MINUTE)).toSatisfy(isUsual);
  await databases.deliver(webhook(present(service.ids[0]), { old: 3, new: 4 }, now()), now());
  // The grace of the gap, its read, and 120 reads at ten a second.
  await readsIn(25 * SECOND);
  expect(oldestMs()).toBeLessThan(25 * SECOND);
  expect(await readsIn(MINUTE)).toSatisfy(isUsual);
});

test('reads each product in time while requests for others take all the room', async () => {
  const { readFirst, keepsFor, now, databases, service } = setUp({ products: 90, boundMs: HOUR, maxRps: 1 });
  await readFirst();
  databases.change('UPDATE products SET read_at_ms = read_at_ms - ?', 50 * MINUTE);
  const requested = service.ids.slice(0, 60);
  const timer = setInterval(() => {
    void databases.requestReads(now(), 'not_stored', { productIds: requested });
  }, 30 * SECOND);
  await keepsFor(15 * MINUTE).finally(() => clearInterval(timer));
});

test('catches up once the store answers again', async () => {
  const { readFirst, readsIn, keepsFor, service, oldestMs } = setUp({ products: 300 });
  await readFirst();
  await keepsFor(2 * MINUTE);
  service.onDetail = () => {
    throw serviceError('unavailable');
  };
  await readsIn(BOUND);
  expect(oldestMs()).toBeGreaterThan(BOUND);
  service.onDetail = () => undefined;
  // 300 products at ten reads a second, once the reads are no longer held back.
  await readsIn(2 * MINUTE);
  await keepsFor(BOUND);
});

test('trusts no value that was not checked for a tenth longer than the bound', async () => {
  const { readFirst, readsIn, service, databases, now, oldestMs } = setUp({ products: 40 });
  const bound = { withinMs: BOUND, maxReadsPerSecond: 10 };
  /** @returns the number of rows for each reason against trust, after a heartbeat. */
  const rowsNow = async (): Promise<{ readonly unchecked: number; readonly trusted: number }> => {
    const { epoch, trustedAfterMs, wayIn } = await databases.mirror.ask('stateFacts', { nowMs: now() });
    await databases.mirror.command('alive', {
      atMs: now(),
      clockMs: now(),
      checkedSinceMs: checkedSinceMs(now(), bound),
      epoch,
      trustedAfterMs,
      wayIn,
      state: 'live',
      stateCause: null,
      causesJson: '[]',
    });
    const counted = databases.rows<{ unchecked: number; trusted: number }>(
      `SELECT sum(why_not IS 'unchecked') AS unchecked, sum(trusted) AS trusted FROM mirror_sellable`,
    );
    return present(counted[0]);
  };
  await readFirst();
  await readsIn(BOUND);
  expect(await rowsNow()).toEqual({ unchecked: 0, trusted: 40 });
  service.onDetail = () => {
    throw serviceError('unavailable');
  };
  while (oldestMs() <= 1.1 * BOUND) {
    expect(await rowsNow()).toEqual({ unchecked: 0, trusted: 40 });
    await readsIn(SECOND);
  }
  const { unchecked, trusted } = await rowsNow();
  expect(unchecked).toBeGreaterThan(0);
  expect(trusted).toBe(40 - unchecked);
  await readsIn(BOUND);
  expect(await rowsNow()).toEqual({ unchecked: 40, trusted: 0 });
  service.onDetail = () => undefined;
  await readsIn(MINUTE);
  expect(await rowsNow()).toEqual({ unchecked: 0, trusted: 40 });
});
