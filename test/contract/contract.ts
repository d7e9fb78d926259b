/** A case of the contract: what it shows of which rules, over real sockets, as the service's caller sees it. */
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../src/client.ts';
import type { Client, ClientOptions } from '../../src/client.ts';
import type { Variant } from '../../src/sandbox/world/model.ts';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { manualTime, steer, withReceiver } from '../sandbox/harness.ts';
import type { Json } from '../sandbox/harness.ts';
import type { Received, Receiver } from '../sandbox/receiver.ts';
import { lamp, recipient } from '../sandbox/shop.ts';
import { temporaryFolder } from '../store-api/connection.ts';
import { createRaw } from './raw.ts';
import type { Answer, Raw } from './raw.ts';
import type { RuleId } from './rules.ts';

export type Context = {
  readonly sandbox: Sandbox;
  /** A partner's server: where the first app's webhooks go. */
  readonly receiver: Receiver;
  readonly raw: Raw;
  /** The package's own client, with a token file of its own and no pauses worth waiting for. */
  readonly client: (options?: Partial<ClientOptions>) => Client;
  /** Ten in stock in one warehouse, at 250.00, with the SKU `LAMP-1`. */
  readonly lamp: Variant;
  /** The body of a right order, with the fields given in place of its own. */
  readonly body: (fields?: Json) => Json;
  /** Creates, and gives the order of a 200. */
  readonly order: (fields?: Json) => Promise<Json>;
  /** The order as it stands now. */
  readonly read: (orderId: unknown) => Promise<Json>;
  /** `POST /sandbox/…`, which must be taken. */
  readonly steer: (path: string, body: Json) => Promise<Json>;
  /** What has reached the partner's server, once nothing is on its way. */
  readonly webhooks: () => Promise<readonly Received[]>;
  /** Moves the clock and the timers of everything; the time stands still otherwise. */
  readonly advance: (ms: number) => void;
};

export type ContractCase = {
  readonly ids: readonly RuleId[];
  readonly name: string;
  readonly side: 'raw' | 'client';
  readonly run: (context: Context) => Promise<void> | void;
};

/** What a caller sees who speaks plain HTTP. */
export function rule(ids: RuleId | readonly RuleId[], name: string, run: ContractCase['run']): ContractCase {
  return { ids: [ids].flat(), name, side: 'raw', run };
}

/** What a program sees that uses the package's client, or its webhook functions. */
export function clientRule(
  ids: RuleId | readonly RuleId[],
  name: string,
  run: ContractCase['run'],
): ContractCase {
  return { ids: [ids].flat(), name, side: 'client', run };
}

/** Runs every case, each against a service of its own. */
export function runCases(cases: readonly ContractCase[]): void {
  for (const { ids, name, side, run } of cases) {
    const through = side === 'client' ? ' (client)' : '';
    test(`${ids.join(', ')}${through}: ${name}`, async () => {
      expect.hasAssertions();
      await run(await contextFor());
    });
  }
}

/** One of each kind at least, and with the lamp one more than the default page of the list. */
const PRODUCTS = 20;

async function contextFor(options: SandboxOptions = {}): Promise<Context> {
  const time = manualTime(Date.now());
  const started = { products: PRODUCTS, now: time.now, timers: time.timers, ...options };
  const { sandbox, receiver } = await withReceiver(started);
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
    ...{ sandbox, receiver, raw, lamp: variant, body },
    client: (given = {}) => {
      const client = createClient({
        baseUrl: sandbox.baseUrl,
        clientId: sandbox.clientId,
        clientSecret: sandbox.clientSecret,
        tokenFilePath: `${temporaryFolder()}/token.json`,
        retry: { baseMs: 1, capMs: 1 },
        ...given,
      });
      onTestFinished(() => client.close());
      return client;
    },
    order: async (fields) => orderOf(await raw.post('/v1/order/create', body(fields))),
    read: async (orderId) => orderOf(await raw.post('/v1/order/detail', { order_id: orderId })),
    steer: async (path, fields) => {
      const answer = await steer(sandbox, path, fields);
      expect(answer).toMatchObject({ status: 200 });
      return answer.body;
    },
    webhooks: async () => {
      await sandbox.network.idle();
      for (const delivery of receiver.received) await raw.checkWebhook(delivery);
      return receiver.received;
    },
    advance: (ms) => {
      time.advance(ms);
    },
  };
}

function orderOf(answer: Answer): Json {
  expect(answer).toMatchObject({ status: 200, body: { order: { id: expect.stringMatching(/^[0-9]+$/) } } });
  return answer.body['order'] as Json;
}
