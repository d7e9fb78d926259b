/** Which requests are retried, when and how often. */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ServiceError, type ServiceErrorInit } from '../../src/store-api/transport/errors.ts';
import type { CreateOrderRequest } from '../../src/store-api/contract/order-schemas.ts';
import { retryDelayMs, withRetries, type RetryPolicy } from '../../src/store-api/retry.ts';
import { connected, failureOf } from './connection.ts';
import { sendError, sendJson, type Answering } from './stub-service.ts';

const CREATE = '/v1/order/create';
const POLICY: RetryPolicy = { attempts: 4, baseMs: 100, capMs: 300, maxWaitMs: 60_000 };

const order = {
  shipping_type: 'kex',
  products: [{ sku: 'A', qty: 1 }],
  recipient_address_id: '5',
} as const satisfies CreateOrderRequest;
const namedOrder = { ...order, external_order_id: 'A-1' };

function failed(init: Partial<ServiceErrorInit>): ServiceError {
  return new ServiceError({ kind: 'unavailable', endpoint: CREATE, description: '', ...init });
}

describe('the decision', () => {
  test.each([
    ['unavailable', true, 100],
    ['unavailable', false, null],
    ['rate_limited', true, 100],
    ['rate_limited', false, 100],
    ['rejected', true, null],
    ['unauthorized', true, null],
    ['credentials', true, null],
    ['contract', true, null],
    ['aborted', true, null],
  ] as const)('%s, repeatable: %s', (kind, isRepeatable, delayMs) => {
    expect(
      retryDelayMs(failed({ kind }), { failures: 1, isRepeatable, policy: POLICY, random: 0.9999 }),
    ).toBe(delayMs);
  });

  test('waits longer after each failure up to the cap, with full jitter', () => {
    const delays = (random: number) =>
      [1, 2, 3, 4].map((failures) =>
        retryDelayMs(failed({}), { failures, isRepeatable: true, policy: POLICY, random }),
      );
    expect(delays(0.9999)).toEqual([100, 200, 300, null]);
    expect(delays(0.5)).toEqual([50, 100, 150, null]);
    expect(delays(0)).toEqual([10, 10, 10, null]);
  });

  test('never retries before Retry-After', () => {
    const asked = (retryAfterMs: number) => failed({ kind: 'rate_limited', retryAfterMs });
    expect(retryDelayMs(asked(7_000), { failures: 1, isRepeatable: false, policy: POLICY, random: 0 })).toBe(
      7_010,
    );
    expect(retryDelayMs(asked(60_000), { failures: 1, isRepeatable: false, policy: POLICY, random: 0 })).toBe(
      60_010,
    );
    expect(
      retryDelayMs(asked(60_001), { failures: 1, isRepeatable: false, policy: POLICY, random: 0 }),
    ).toBeNull();
  });
});

/** A client whose waits are recorded and take no time. */
async function retrying(onWait: () => void | Promise<void> = () => undefined) {
  const { service, client } = await connected();
  const slept: number[] = [];
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const sleep = vi.spyOn(timers, 'setTimeout').mockImplementation(async (ms = 0, value, options) => {
    slept.push(ms);
    await onWait();
    options?.signal?.throwIfAborted();
    return value;
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    random.mockRestore();
    sleep.mockRestore();
    syncBuiltinESMExports();
  });
  return { service, client: withRetries(client, POLICY), slept };
}

const cut: Answering = (response) => response.destroy();
const broken: Answering = (response) => sendError(response, 500, 'server_error');
const good: Answering = (response) =>
  sendJson(response, 200, {
    order: { id: '900' },
    product: {
      id: '7',
      name: '',
      store_id: '1',
      variants: [{ product_variant_id: '70', name: '', available_qty: 1 }],
    },
    products: [],
    addresses: [],
    has_more: false,
  });

/** Gives these answers in turn, then repeats the last. */
function inTurn(...answers: readonly Answering[]): Answering {
  return (response, request, nth) => answers[Math.min(nth, answers.length) - 1]?.(response, request, nth);
}

describe('the client', () => {
  test.each([
    ['/v1/product/list', 'listProducts', {}],
    ['/v1/product/detail', 'productDetail', '7'],
    ['/v1/order/detail', 'orderDetail', { order_id: '900' }],
    ['/v1/store/address/list', 'listAddresses', {}],
    [CREATE, 'createOrder', namedOrder],
  ] as const)('tries %s again after a 500 and a cut connection', async (path, method, request) => {
    const { service, client, slept } = await retrying();
    service.answer(path, inTurn(broken, cut, good));
    await (client[method] as (request: unknown) => Promise<unknown>)(request);
    const bodies = service.to(path).map(({ body }) => body);
    expect(bodies).toHaveLength(3);
    expect(new Set(bodies).size).toBe(1);
    expect(slept).toEqual([50, 100]);
  });

  test('sends nothing while it waits for the next attempt', async () => {
    const path = '/v1/product/detail';
    let sentMeanwhile: number | null = null;
    const { service, client } = await retrying(async () => {
      // An attempt that does not wait would arrive in this time.
      await new Promise((resolve) => setTimeout(resolve, 100));
      sentMeanwhile = service.to(path).length - 1;
    });
    service.answer(path, inTurn(broken, good));
    await client.productDetail('7');
    expect(sentMeanwhile).toBe(0);
  });

  test.each([
    ['no external_order_id', order],
    ['an empty external_order_id', { ...order, external_order_id: '' }],
    ['a null for its external_order_id', { ...order, external_order_id: null }],
  ])('never sends an order with %s twice', async (_what, request) => {
    for (const trouble of [broken, cut]) {
      const { service, client, slept } = await retrying();
      service.answer(CREATE, trouble);
      expect(await failureOf(client.createOrder(request as CreateOrderRequest))).toMatchObject({
        kind: 'unavailable',
      });
      expect(service.to(CREATE)).toHaveLength(1);
      expect(slept).toEqual([]);
    }
  });

  test('waits for Retry-After also with an order without an id, since a 429 has not created it', async () => {
    const { service, client, slept } = await retrying();
    service.answer(
      CREATE,
      inTurn((response) => sendError(response, 429, 'slow_down', { 'Retry-After': '7' }), good),
    );
    await client.createOrder(order);
    expect(slept).toEqual([7_050]);
    expect(service.to(CREATE)).toHaveLength(2);
  });

  test.each(['the signal', 'closing'])('%s ends the wait between attempts', async (how) => {
    const abort = new AbortController();
    const { service, client } = await retrying(async () => {
      if (how === 'closing') await client.close();
      else abort.abort();
    });
    service.answer(CREATE, broken);
    const error = await failureOf(client.createOrder(namedOrder, { signal: abort.signal }));
    expect(error).toMatchObject({ kind: 'aborted', endpoint: CREATE });
    expect(error.cause).toMatchObject({ kind: 'unavailable', status: 500 });
    expect(service.to(CREATE)).toHaveLength(1);
  });
});
