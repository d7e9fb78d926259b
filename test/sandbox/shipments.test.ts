import { describe, expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { manualTime } from './harness.ts';
import type { Json } from './harness.ts';
import { shopFor } from './shop.ts';

async function onManualTime() {
  const time = manualTime();
  const shop = await shopFor({ now: time.now, timers: time.timers });
  return { time, shop, pay: (id: unknown) => shop.steer('/operations', { operation: 'pay', order_id: id }) };
}

describe('States and transitions: a tracking number is requested automatically', () => {
  test('once payment is confirmed, and comes moments later', async () => {
    const { time, shop, pay } = await onManualTime();
    const { id } = await shop.order({ shipping_type: 'kex' });
    time.advance(3_600_000);
    expect(await shop.read(id)).not.toHaveProperty('shipments');
    await pay(id);
    expect(await shop.read(id)).not.toHaveProperty('shipments');
    time.advance(shop.sandbox.courier.bookingDelayMs - 1);
    expect(await shop.read(id)).not.toHaveProperty('shipments');
    time.advance(1);
    expect((await shop.read(id))['shipments']).toEqual([
      {
        id: expect.stringMatching(/^[0-9]+$/),
        shipping_type: 'kex',
        tracking_number: expect.stringMatching(/^TH[0-9]{10}$/),
        create_time: time.now(),
      },
    ]);
  });

  test('at once when ship_before_pay is true, and not again when it is paid', async () => {
    const { time, shop, pay } = await onManualTime();
    const created = await shop.order({ ship_before_pay: true });
    expect(created).not.toHaveProperty('shipments');
    time.advance(shop.sandbox.courier.bookingDelayMs);
    const { shipments } = await shop.read(created['id']);
    expect(shipments).toHaveLength(1);
    await pay(created['id']);
    time.advance(60_000);
    expect((await shop.read(created['id']))['shipments']).toEqual(shipments);
  });

  test('each order has a tracking number of its own', async () => {
    const { time, shop } = await onManualTime();
    const ids = [await shop.order({ ship_before_pay: true }), await shop.order({ ship_before_pay: true })];
    time.advance(shop.sandbox.courier.bookingDelayMs);
    const numbers = await Promise.all(
      ids.map(
        async ({ id }) => present(((await shop.read(id))['shipments'] as Json[])[0])['tracking_number'],
      ),
    );
    expect(new Set(numbers).size).toBe(2);
  });

  test('never by itself when auto_request_xshipping is false; the caller supplies it', async () => {
    const { time, shop, pay } = await onManualTime();
    const { id } = await shop.order({ auto_request_xshipping: false, ship_before_pay: true });
    await pay(id);
    time.advance(3 * 3_600_000);
    expect(await shop.read(id)).not.toHaveProperty('shipments');
    expect(time.waiting()).toBe(0);
    await shop.steer('/operations', {
      ...{ operation: 'add_tracking_number', order_id: id, tracking_number: 'MINE-1' },
    });
    expect((await shop.read(id))['shipments']).toMatchObject([{ tracking_number: 'MINE-1' }]);
  });

  test('not for a courier that the store has not set up', async () => {
    const { time, shop } = await onManualTime();
    await shop.steer('/settings', { couriers: ['ems'] });
    const flash = await shop.order({ ship_before_pay: true });
    const ems = await shop.order({ ship_before_pay: true, shipping_type: 'ems' });
    time.advance(60_000);
    expect(await shop.read(flash['id'])).not.toHaveProperty('shipments');
    expect((await shop.read(ems['id']))['shipments']).toHaveLength(1);
  });

  test('not for an order cancelled meanwhile', async () => {
    const { time, shop } = await onManualTime();
    const { id } = await shop.order({ ship_before_pay: true });
    await shop.steer('/operations', { operation: 'cancel', order_id: id });
    time.advance(60_000);
    expect(await shop.read(id)).not.toHaveProperty('shipments');
  });

  test('after the delay that is set, also when time is moved by hand', async () => {
    const { shop } = await onManualTime();
    await shop.steer('/settings', { booking_delay_ms: 60_000 });
    const { id } = await shop.order({ ship_before_pay: true });
    await shop.steer('/clock', { advance_ms: 59_999 });
    expect(await shop.read(id)).not.toHaveProperty('shipments');
    await shop.steer('/clock', { advance_ms: 1 });
    expect((await shop.read(id))['shipments']).toHaveLength(1);
  });

  test('in real time', async () => {
    const shop = await shopFor();
    await shop.steer('/settings', { booking_delay_ms: 30 });
    const { id } = await shop.order({ ship_before_pay: true });
    await expect.poll(async () => (await shop.read(id))['shipments']).toHaveLength(1);
  });
});

test('paying twice, or what is cancelled, is refused', async () => {
  const { shop } = await onManualTime();
  const { id } = await shop.order();
  shop.sandbox.orderDesk.pay(id as string);
  expect(() => {
    shop.sandbox.orderDesk.pay(id as string);
  }).toThrow('is paid already');
  await shop.steer('/operations', { operation: 'cancel', order_id: id });
  expect(() => {
    shop.sandbox.orderDesk.addTrackingNumber(id as string, 'X');
  }).toThrow('is cancelled');
});
