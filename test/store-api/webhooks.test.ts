import { describe, expect, expectTypeOf, test } from 'vitest';
import { signBody, WebhookError, webhooks, type StockItem } from '../../src/client.ts';

const SECRET = 'whsec_test';
const item = {
  id: '70',
  sku: 'TS-RED-M',
  old: 5,
  new: 3,
  warehouse_id: '3',
  update_time: 1_790_000_000_000,
  reason: 'order_reserved',
  order_id: '900',
};
const event = {
  request_id: 'r1',
  event_type: 'stock_available_updated',
  request_time: 1_790_000_000_001,
  data: { items: [item] },
};

function construct(body: unknown, secret: string | readonly string[] = SECRET) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return webhooks.constructEvent(Buffer.from(text), signBody(SECRET, Buffer.from(text)), secret);
}

function failureOf(work: () => unknown): WebhookError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(WebhookError);
    return error as WebhookError;
  }
  return expect.fail('no error');
}

test('returns the typed event', () => {
  const constructed = construct(event);
  expect(constructed).toEqual(event);
  expect(webhooks.isStockAvailableUpdated(constructed)).toBe(true);
  if (webhooks.isStockAvailableUpdated(constructed))
    expectTypeOf(constructed.data.items).toEqualTypeOf<readonly StockItem[]>();
});

test('takes the body as text, and several secrets', () => {
  const text = JSON.stringify(event);
  const signature = signBody(SECRET, Buffer.from(text));
  expect(webhooks.constructEvent(text, signature, ['next', SECRET])).toEqual(event);
});

test('keeps unknown fields, reasons and event types', () => {
  const later = { ...event, version: 3, data: { items: [{ ...item, reason: 'of_tomorrow', lot: 'A' }] } };
  expect(construct(later)).toEqual(later);
  const other = { ...event, event_type: 'order_paid', data: { order_id: '900' } };
  const constructed = construct(other);
  expect(constructed).toEqual(other);
  expect(webhooks.isStockAvailableUpdated(constructed)).toBe(false);
});

describe('refuses', () => {
  test.each([
    ['the signature of another body', signBody(SECRET, Buffer.from('{}')), SECRET],
    ['no signature', undefined, SECRET],
  ])('%s', (_what, signature, secret) => {
    const body = Buffer.from(JSON.stringify(event));
    expect(failureOf(() => webhooks.constructEvent(body, signature, secret)).kind).toBe('signature');
  });

  test.each([
    ['no JSON', 'stock', 'not JSON'],
    ['no envelope', [], 'expected object'],
    ['no request_id', { ...event, request_id: undefined }, 'request_id: '],
    ['no items', { ...event, data: {} }, 'data.items: '],
    [
      'a quantity as text',
      { ...event, data: { items: [item, { ...item, new: '3' }] } },
      'data.items[1].new: ',
    ],
  ])('a signed body with %s, and names the field', (_what, body, words) => {
    const error = failureOf(() => construct(body));
    expect(error.kind).toBe('body');
    expect(error.message).toContain(words);
  });
});
