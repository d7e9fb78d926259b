import { describe, expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { manualTime, requestToken } from './harness.ts';
import { shopFor } from './shop.ts';

const HOUR_MS = 3_600_000;

async function onManualTime() {
  const time = manualTime();
  return { time, shop: await shopFor({ now: time.now, timers: time.timers }) };
}

describe('expiration_time: an unpaid order expires', () => {
  test('at that time, cancelled by the system, and its stock comes back with a webhook', async () => {
    const { time, shop } = await onManualTime();
    const expirationMs = time.now() + HOUR_MS;
    const { id } = await shop.order({ expiration_time: expirationMs });
    time.advance(HOUR_MS - 1);
    expect(await shop.read(id)).toMatchObject({ status: 'open', expiration_time: expirationMs });
    expect(shop.sellable()).toBe(9);

    time.advance(1);
    expect(await shop.read(id)).toMatchObject({
      status: 'canceled',
      cancel_reason: 'order_canceled_by_system',
    });
    expect(shop.sellable()).toBe(10);
    await expect
      .poll(() => shop.receiver.items())
      .toMatchObject([
        { reason: 'order_reserved' },
        { reason: 'order_canceled_by_system', order_id: id, old: 9, new: 10, update_time: expirationMs },
      ]);
  });

  test.each<[string, string, string]>([
    ['paid', 'pay', 'open'],
    ['shipped', 'ship', 'shipped'],
    ['cancelled by the buyer', 'cancel', 'canceled'],
  ])('but not one that is %s by then', async (_, operation, status) => {
    const { time, shop } = await onManualTime();
    const { id } = await shop.order({ expiration_time: time.now() + HOUR_MS });
    await shop.steer('/operations', { operation, order_id: id });
    const sellable = shop.sellable();
    time.advance(HOUR_MS);
    const order = await shop.read(id);
    expect(order['status']).toBe(status);
    expect(order['cancel_reason']).not.toBe('order_canceled_by_system');
    expect(shop.sellable()).toBe(sellable);
  });

  test('one that has no expiration_time never does', async () => {
    const { shop } = await onManualTime();
    await shop.order();
    shop.sandbox.advance(3_000 * HOUR_MS);
    expect(shop.sellable()).toBe(9);
  });

  test('further away than a timer can wait', async () => {
    const time = manualTime();
    const waits: number[] = [];
    const setTimeout: typeof time.timers.setTimeout = (callback, ms) => {
      waits.push(ms);
      return time.timers.setTimeout(callback, ms);
    };
    const shop = await shopFor({ now: time.now, timers: { ...time.timers, setTimeout } });
    await shop.order({ expiration_time: time.now() + 60 * 24 * HOUR_MS });
    time.advance(60 * 24 * HOUR_MS - 1);
    expect(shop.sellable()).toBe(9);
    time.advance(1);
    expect(shop.sellable()).toBe(10);
    // The platform takes a longer one for none at all.
    expect(Math.max(...waits)).toBe(2 ** 31 - 1);
  });

  test('in the past: created first, expired at once', async () => {
    const { time, shop } = await onManualTime();
    const order = await shop.order({ expiration_time: time.now() - 1 });
    expect(order).toMatchObject({ status: 'open' });
    time.advance(0);
    expect(await shop.read(order['id'])).toMatchObject({ status: 'canceled' });
  });

  test('in real time', async () => {
    const shop = await shopFor();
    await shop.order({ expiration_time: Date.now() + 50 });
    await expect.poll(() => shop.sellable()).toBe(10);
  });

  test('when the service’s clock is stepped over it', async () => {
    const { shop, time } = await onManualTime();
    await shop.order({ expiration_time: time.now() + HOUR_MS });
    await shop.steer('/faults', { clock_offset_ms: HOUR_MS - 1 });
    expect(shop.sellable()).toBe(9);
    await shop.steer('/faults', { clock_offset_ms: HOUR_MS });
    expect(shop.sellable()).toBe(10);
  });
});

describe('POST /sandbox/clock moves time by hand', () => {
  test('what is due happens in order, each at its own time', async () => {
    const { time, shop } = await onManualTime();
    const startMs = time.now();
    const hours = [2, 1, 4, 3, 2];
    const ids: unknown[] = [];
    for (const hour of hours) {
      ids.push((await shop.order({ expiration_time: startMs + hour * HOUR_MS }))['id']);
    }
    const moved = await shop.steer('/clock', { advance_ms: 3 * HOUR_MS });
    expect(moved).toEqual({ now: startMs + 3 * HOUR_MS, offset_ms: 0 });
    const told = shop.sandbox.deliveries.records
      .flatMap(({ delivery }) => delivery.items)
      .filter((item) => item.reason === 'order_canceled_by_system');
    expect(told).toMatchObject(
      [1, 0, 4, 3].map((n) => ({ order_id: ids[n], update_time: startMs + present(hours[n]) * HOUR_MS })),
    );
  });

  test('Authentication 3: a token ends after four hours', async () => {
    const { shop } = await onManualTime();
    const { id } = await shop.order();
    await shop.steer('/clock', { advance_ms: 4 * HOUR_MS - 1 });
    expect((await shop.detail(id)).status).toBe(200);
    await shop.steer('/clock', { advance_ms: 1 });
    expect(await shop.detail(id)).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
  });

  test('Authentication 5: a block ends after fifteen minutes', async () => {
    const { shop } = await onManualTime();
    const { sandbox } = shop;
    sandbox.oauth.resetLimits();
    for (let failed = 0; failed < 10; failed += 1) await requestToken(sandbox, { client_secret: 'wrong' });
    await shop.steer('/clock', { advance_ms: 15 * 60_000 - 1 });
    expect((await requestToken(sandbox)).status).toBe(429);
    await shop.steer('/clock', { advance_ms: 1 });
    expect((await requestToken(sandbox)).status).toBe(200);
  });

  test('Authentication 6: an old secret works for another 24 hours', async () => {
    const { shop } = await onManualTime();
    const { sandbox } = shop;
    const old = sandbox.clientSecret;
    const { client_secret: next } = await shop.steer('/replace-client-secret', {});
    await shop.steer('/clock', { advance_ms: 24 * HOUR_MS - 1 });
    expect((await requestToken(sandbox, { client_secret: old })).status).toBe(200);
    await shop.steer('/clock', { advance_ms: 1 });
    expect((await requestToken(sandbox, { client_secret: old })).status).toBe(401);
    expect((await requestToken(sandbox, { client_secret: next as string })).status).toBe(200);
  });

  test('the answers’ Date moves with it, and never back', async () => {
    const { time, shop } = await onManualTime();
    await shop.steer('/clock', { advance_ms: HOUR_MS });
    const answer = await shop.call('/v1/product/list');
    expect(answer.headers.get('date')).toBe(new Date(time.now() + HOUR_MS).toUTCString());
    await expect(shop.steer('/clock', { advance_ms: -1 })).rejects.toThrow();
  });
});

describe('Events: the app’s settings', () => {
  test('nothing is delivered while the URL is empty, and the switch keeps the URL', async () => {
    const shop = await shopFor();
    const events = (on: boolean) => ({ events: { stock_available_updated: on } });
    await shop.steer('/settings', { webhook_url: '' });
    await shop.order();
    await shop.steer('/settings', { webhook_url: shop.receiver.url, ...events(false) });
    await shop.order();
    await shop.sandbox.network.idle();
    expect(shop.receiver.received).toHaveLength(0);

    const settings = await shop.steer('/settings', events(true));
    expect(settings).toMatchObject({ webhook_url: shop.receiver.url, ...events(true) });
    await shop.order();
    await shop.sandbox.network.idle();
    expect(shop.receiver.items()).toMatchObject([{ old: 8, new: 7 }]);
  });
});
