/** One test per rule of the contract, over real sockets. */
import { expect, test } from 'vitest';
import type { Variant } from '../../src/sandbox/world/model.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { manualTime, steer, withReceiver, lamp, recipient, type Json } from '../sandbox/harness.ts';
import type { Received, Receiver } from '../sandbox/receiver.ts';
import { createRaw, type Answer, type Raw } from './raw.ts';

export type Context = {
  readonly sandbox: Sandbox;
  /** Receives the first app's webhooks. */
  readonly receiver: Receiver;
  readonly raw: Raw;
  /** Ten in stock in one warehouse, at 250.00, with the SKU `LAMP-1`. */
  readonly lamp: Variant;
  /** A valid order with some fields replaced. */
  readonly body: (fields?: Json) => Json;
  /** Creates an order, and returns the order of the 200. */
  readonly order: (fields?: Json) => Promise<Json>;
  /** Reads the current order. */
  readonly read: (orderId: unknown) => Promise<Json>;
  /** `POST /sandbox/…`, which must succeed. */
  readonly steer: (path: string, body: Json) => Promise<Json>;
  /** The webhooks received, once none is in transit. */
  readonly webhooks: () => Promise<readonly Received[]>;
  /** Moves the clock and fires timers; time does not pass otherwise. */
  readonly advance: (ms: number) => void;
};

/** @param ids the rules of the contract that the test checks. */
export function rule(
  ids: string | readonly string[],
  name: string,
  run: (context: Context) => Promise<void> | void,
): void {
  test(`${[ids].flat().join(', ')}: ${name}`, async () => {
    expect.hasAssertions();
    await run(await newContext());
  });
}

/** At least one of each kind; with the lamp one more than a default page. */
const PRODUCTS = 20;

async function newContext(): Promise<Context> {
  const time = manualTime(Date.now());
  const { sandbox, receiver } = await withReceiver({
    products: PRODUCTS,
    now: time.now,
    timers: time.timers,
  });
  const variant = lamp(sandbox, { sku: 'LAMP-1' });
  variant.price = '250.00';
  await sandbox.network.idle();
  receiver.received.length = 0;

  const raw = createRaw(sandbox);
  const body = (fields: Json = {}): Json => ({
    shipping_type: 'flash',
    products: [{ product_variant_id: variant.id, qty: 1 }],
    recipient_address: recipient,
    ...fields,
  });
  return {
    sandbox,
    receiver,
    raw,
    lamp: variant,
    body,
    order: async (fields) => orderOf(await raw.post('/v1/order/create', body(fields))),
    read: async (orderId) => orderOf(await raw.post('/v1/order/detail', { order_id: orderId })),
    steer: async (path, fields) => {
      const answer = await steer(sandbox, path, fields);
      expect(answer).toMatchObject({ status: 200 });
      return answer.body;
    },
    webhooks: async () => {
      await sandbox.network.idle();
      for (const delivery of receiver.received) raw.checkWebhook(delivery);
      return receiver.received;
    },
    advance: (ms) => {
      time.advance(ms);
    },
  };
}

/** @returns the credentials of a second channel. */
export function secondChannel({ addApp }: Sandbox): { client_id: string; client_secret: string } {
  addApp({
    clientId: 'second',
    clientSecret: 'second-secret',
    webhookSecret: 'second-webhook-secret',
    webhookUrl: null,
  });
  return { client_id: 'second', client_secret: 'second-secret' };
}

function orderOf(answer: Answer): Json {
  expect(answer).toMatchObject({ status: 200, body: { order: { id: expect.stringMatching(/^[0-9]+$/) } } });
  return answer.body['order'] as Json;
}
