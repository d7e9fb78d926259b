/**
 * An authentic body is never refused: what is understood is merged, what is not is named
 * (docs/http-api.md#public-listener).
 */
import { describe, expect, test } from 'vitest';
import { parseDelivery, type ParsedDelivery } from '../../src/store-api/delivery.ts';

const NOW = 1_790_000_000_000;
const ITEM = {
  id: '100',
  sku: 'S',
  old: 5,
  new: 4,
  warehouse_id: '7',
  update_time: NOW,
  reason: 'order_reserved',
};
const CHANGE = {
  variantId: '100',
  warehouseId: '7',
  sku: 'S',
  old: 5,
  new: 4,
  updateTimeMs: NOW,
  reason: 'order_reserved',
  orderId: null,
  userId: null,
};

const parse = (text: string): ParsedDelivery => parseDelivery(new TextEncoder().encode(text));
/** @param items JSON text of the items, so that anything can be written. */
const withItems = (...items: readonly string[]): string =>
  `{"request_id":"r1","event_type":"stock_available_updated","request_time":${NOW},"data":{"items":[${items.join(',')}]}}`;
const withItem = (over: Record<string, unknown>): ParsedDelivery =>
  parse(withItems(JSON.stringify({ ...ITEM, ...over })));

test('reads a documented delivery', () => {
  expect(withItem({ order_id: '9' })).toEqual({
    requestId: 'r1',
    changes: [{ ...CHANGE, orderId: '9' }],
    unreadable: [],
  });
});

test.each<[string, string, Partial<typeof CHANGE> | { [name: string]: unknown }]>([
  ['no SKU', `{"sku":""}`, { sku: null }],
  ['an absent SKU', `{"sku":null}`, { sku: null }],
  ['an unknown reason', `{"reason":"brand_new"}`, { reason: 'brand_new' }],
  ['no reason', `{"reason":null}`, { reason: null }],
  ['unknown fields', `{"more":{"a":[1]},"and":null}`, {}],
  ['a negative quantity', `{"old":-1,"new":-20}`, { old: -1, new: -20 }],
  ['no change at all', `{"old":4,"new":4}`, { old: 4 }],
  ['whole numbers written 1.0, 2e0 and -0', `{"old":1.0,"new":2e0}`, { old: 1, new: 2 }],
  ['minus zero', `{"old":-0,"new":-0.0}`, { old: 0, new: 0 }],
  ['the largest whole number', `{"new":9007199254740991}`, { new: Number.MAX_SAFE_INTEGER }],
  ['a time far ahead', `{"update_time":9007199254740991}`, { updateTimeMs: Number.MAX_SAFE_INTEGER }],
  ['a time written 1.79e12', `{"update_time":1.79e12}`, {}],
  ['both an order and a user', `{"order_id":"1","user_id":"2"}`, { orderId: '1', userId: '2' }],
  ['leading zeros in an id', `{"id":"0100"}`, { variantId: '0100' }],
  ['an id longer than any number', `{"id":"${'9'.repeat(40)}"}`, { variantId: '9'.repeat(40) }],
  ['text in any script, and NUL', `{"sku":"เสื้อ \\u0000 😀"}`, { sku: 'เสื้อ \0 😀' }],
  ['half a surrogate pair', `{"sku":"\\ud83d","reason":"\\udc00"}`, { sku: '�', reason: '�' }],
  ['keys that every object inherits', `{"__proto__":{"old":1},"constructor":1,"toString":null}`, {}],
  ['a key given twice, of which the last counts', `{"new":3,"new":2}`, { new: 2 }],
])('reads an item with: %s', (_name, over, expected) => {
  const base = JSON.stringify(ITEM).slice(0, -1);
  const { changes, unreadable } = parse(withItems(`${base},${over.slice(1)}`));
  expect(unreadable).toEqual([]);
  expect(changes).toEqual([{ ...CHANGE, ...expected }]);
  expect(changes[0]?.old).not.toBe(-0);
  expect(Object.getPrototypeOf(changes[0])).toBe(Object.prototype);
});

describe('marks a broken item with its field and, if known, its variant:', () => {
  test.each<[string, string, string | null, string]>([
    ['an id that is a number', `{"id":100}`, '100', '.id'],
    ['an id that has lost digits', `{"id":12345678901234567890}`, null, '.id'],
    ['an id below zero', `{"id":-1}`, null, '.id'],
    ['an id that is no number', `{"id":1.5}`, null, '.id'],
    ['an id with letters', `{"id":"1a"}`, null, '.id'],
    ['an id with a line break', `{"id":"100\\n"}`, null, '.id'],
    ['an empty id', `{"id":""}`, null, '.id'],
    ['no id', `{"id":null}`, null, '.id'],
    ['a warehouse that is a number', `{"warehouse_id":7}`, '100', '.warehouse_id'],
    ['no warehouse', `{"warehouse_id":null}`, '100', '.warehouse_id'],
    ['a fraction', `{"new":1.5}`, '100', '.new'],
    ['a number beyond all whole ones', `{"new":9007199254740992}`, '100', '.new'],
    ['a number beyond all', `{"old":1e400}`, '100', '.old'],
    ['a quantity in a string', `{"old":"5"}`, '100', '.old'],
    ['no quantity', `{"new":null}`, '100', '.new'],
    ['a time in seconds', `{"update_time":1790000000}`, '100', '.update_time'],
    ['a time before all', `{"update_time":-1}`, '100', '.update_time'],
    ['half a millisecond', `{"update_time":1790000000000.5}`, '100', '.update_time'],
    ['a time in words', `{"update_time":"2026-09-21T14:13:20Z"}`, '100', '.update_time'],
    ['a quantity only its prototype has', `{"new":null,"__proto__":{"new":1}}`, '100', '.new'],
  ])('%s', (_name, over, variantId, field) => {
    const base = JSON.stringify(ITEM).slice(0, -1);
    const good = JSON.stringify({ ...ITEM, id: '101' });
    const { changes, unreadable } = parse(withItems(good, `${base},${over.slice(1)}`, good));
    expect(changes.map((change) => change.variantId)).toEqual(['101', '101']);
    expect(unreadable).toEqual([
      { itemIndex: 1, variantId, problem: expect.stringContaining(`data.items[1]${field}`) },
    ]);
  });

  test.each(['null', '7', '"text"', '[]', '[[]]', '{}', 'true', '['.repeat(10_000) + ']'.repeat(10_000)])(
    'not an item at all: %.20s',
    (text) => {
      const { changes, unreadable } = parse(withItems(JSON.stringify(ITEM), text));
      expect(changes).toHaveLength(1);
      expect(unreadable).toEqual([
        { itemIndex: 1, variantId: null, problem: expect.stringMatching(/^data\.items\[1\](\.id)?: \S/) },
      ]);
    },
  );
});

test.each<[string, string | Uint8Array, string, string | null]>([
  ['empty', '', 'not JSON', null],
  ['blank', '  \n', 'not JSON', null],
  ['not JSON', '{"request_id":', 'not JSON', null],
  ['two documents', '{}{}', 'not JSON', null],
  ['bytes that are no text', Uint8Array.of(0xff, 0xfe, 0x00, 0x80), 'not JSON', null],
  ['UTF-16', Uint8Array.of(0x7b, 0x00, 0x7d, 0x00), 'not JSON', null],
  ['NUL', '\0', 'not JSON', null],
  ['open brackets without end', '['.repeat(100_000), 'not JSON', null],
  ['brackets as deep as a body may be', '['.repeat(500_000) + ']'.repeat(500_000), 'not an array', null],
  ['null', 'null', 'not an array', null],
  ['a list', '[]', 'not an array', null],
  ['a number', '7', 'not an array', null],
  ['a text', '"{}"', 'not an array', null],
  ['an empty object', '{}', 'not an array', null],
  ['data that is a list', '{"request_id":"r1","data":[]}', 'not an array', 'r1'],
  ['no data', '{"request_id":"r1","event_type":"stock_available_updated"}', 'not an array', 'r1'],
  ['items that are no list', '{"request_id":"r1","data":{"items":{"0":{}}}}', 'not an array', 'r1'],
  ['items that only a prototype has', '{"data":{"__proto__":{"items":[]}}}', 'not an array', null],
])('leaves one mark for a body that is: %s', (_name, body, problem, requestId) => {
  const parsed = typeof body === 'string' ? parse(body) : parseDelivery(body);
  expect(parsed).toEqual({
    requestId,
    changes: [],
    unreadable: [{ itemIndex: null, variantId: null, problem: expect.stringContaining(problem) }],
  });
});

test('reads items despite a byte order mark or invalid UTF-8', () => {
  const text = withItems(JSON.stringify(ITEM));
  const marked = Buffer.concat([Uint8Array.of(0xef, 0xbb, 0xbf), Buffer.from(text)]);
  expect(parseDelivery(marked).changes).toEqual([CHANGE]);
  const broken = Buffer.from(text.replace('"S"', '"S?"'));
  broken[broken.indexOf('?')] = 0xff;
  expect(parseDelivery(broken).changes).toEqual([{ ...CHANGE, sku: 'S�' }]);
});

test('reads items of a flawed envelope, and marks a missing event type', () => {
  const items = `"data":{"items":[${JSON.stringify(ITEM)}]}`;
  expect(parse(`{"request_id":7,"event_type":"stock_available_updated",${items}}`)).toEqual({
    requestId: null,
    changes: [CHANGE],
    unreadable: [],
  });
  expect(parse(`{"request_id":"r1",${items}}`)).toEqual({
    requestId: 'r1',
    changes: [CHANGE],
    unreadable: [{ itemIndex: null, variantId: null, problem: 'event_type is missing' }],
  });
});

test('bounds the marks for many broken items', () => {
  const broken = Array.from({ length: 20_000 }, (_, n) => `{"id":"${n}"}`);
  const { changes, unreadable } = parse(withItems(...broken, JSON.stringify(ITEM)));
  expect(changes).toEqual([CHANGE]);
  expect(unreadable).toHaveLength(1_001);
  expect(unreadable[999]).toMatchObject({ variantId: '999' });
  expect(unreadable.at(-1)).toMatchObject({
    itemIndex: null,
    variantId: null,
    problem: expect.stringMatching(/^data\.items: 19000 more/),
  });
});
