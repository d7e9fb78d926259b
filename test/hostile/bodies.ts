/**
 * Malformed webhook bodies: fields removed, retyped, repeated or added, then bytes cut, flipped or prefixed.
 * Built as text, since JSON text can say more than its values.
 */
import fc from 'fast-check';

const T = 1_790_000_000_000;

type Fields = readonly (readonly [key: string, json: string])[];

const ITEM: Fields = [
  ['id', '"100"'],
  ['sku', '"S-100"'],
  ['old', '5'],
  ['new', '4'],
  ['warehouse_id', '"1"'],
  ['update_time', String(T)],
  ['reason', '"order_reserved"'],
  ['order_id', '"9"'],
];

/** JSON texts that replace the value of a field. */
export const ODD_VALUES: readonly string[] = [
  ...['null', 'true', '""', '"NaN"', '"Infinity"', '"1"', '"01"', '" 1"', '"1\\n"', '"๑"', '"-1"', '"1e3"'],
  ...['0', '-0', '-0.0', '1', '-1', '1.5', '1e0', '1e400', '-1e400', '1e-400', '5E-324', '2.5e15', '1e21'],
  ...['9007199254740991', '9007199254740992', '-9007199254740992', '12345678901234567890', '1790000000'],
  ...[String(T), String(T - 1), String(T + 1), String(T + 10 ** 9), '8640000000000001', '-8640000000000001'],
  ...['"\\ud800"', '"\\udc00"', '"a\\ud83d"', '"\\ufeff"', '"\\u0000\\u0000"', '"\\u2028"', '"😀เ"'],
  '"\\u001b[2J"',
  ...['"__proto__"', '"constructor"', '"toString"', '"hasOwnProperty"', `"'; DROP TABLE log; --"`],
  ...['[]', '{}', '[[]]', '["100"]', '{"length":1}', '{"__proto__":{"new":1}}', '{"toString":1,"valueOf":2}'],
  `"${'9'.repeat(400)}"`,
  `"${'x'.repeat(3_000)}"`,
  '['.repeat(2_000) + ']'.repeat(2_000),
  '{"a":'.repeat(1_000) + '1' + '}'.repeat(1_000),
];

const KEYS = [
  '',
  ...'__proto__ constructor toString prototype then toJSON \\u0000 \\ud800 length'.split(' '),
];

const odd = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...ODD_VALUES) },
  { weight: 1, arbitrary: fc.json() },
);

type Edit = (fields: Fields) => Fields;

const edit = (keys: readonly string[]): fc.Arbitrary<Edit> => {
  const key = fc.constantFrom(...keys);
  return fc.oneof(
    key.map(
      (name): Edit =>
        (fields) =>
          fields.filter(([known]) => known !== name),
    ),
    fc.tuple(key, odd).map(
      ([name, json]): Edit =>
        (fields) =>
          fields.map((field) => (field[0] === name ? ([name, json] as const) : field)),
    ),
    // A repeated key: the last one counts.
    fc.tuple(key, odd, fc.boolean()).map(
      ([name, json, first]): Edit =>
        (fields) =>
          first ? [[name, json], ...fields] : [...fields, [name, json]],
    ),
    fc
      .tuple(fc.constantFrom(...KEYS), odd)
      .map(([name, json]): Edit => (fields) => [...fields, [name, json]]),
  );
};

const object = (fields: Fields): string => `{${fields.map(([key, json]) => `"${key}":${json}`).join(',')}}`;
const edited = (fields: Fields, edits: readonly Edit[]): string =>
  object(edits.reduce((now, change) => change(now), fields));

/** A valid item; variants and warehouses are few, so that chains break and close. */
const goodItem: fc.Arbitrary<string> = fc
  .record({
    id: fc.constantFrom('100', '101', '777'),
    warehouse: fc.constantFrom('1', '2'),
    old: fc.integer({ min: -3, max: 8 }),
    now: fc.integer({ min: -3, max: 8 }),
    at: fc.oneof(fc.integer({ min: T - 3_000, max: T + 60_000 }), fc.constant(T + 10 ** 9)),
  })
  .map(({ id, warehouse, old, now, at }) =>
    edited(ITEM, [
      (fields) =>
        fields.map((field) => {
          const own: Record<string, string> = {
            id: `"${id}"`,
            warehouse_id: `"${warehouse}"`,
            old: String(old),
            new: String(now),
            update_time: String(at),
          };
          const json = own[field[0]];
          return json === undefined ? field : ([field[0], json] as const);
        }),
    ]),
  );

/** A mutated valid item, or any JSON. */
const oddItem: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(edit(ITEM.map(([key]) => key)), { minLength: 1, maxLength: 3 })
      .map((edits) => edited(ITEM, edits)),
  },
  { weight: 2, arbitrary: odd },
);

export const anyItem: fc.Arbitrary<string> = fc.oneof(goodItem, oddItem);

const ENVELOPE = ['request_id', 'event_type', 'request_time', 'data'];

/** @param items JSON texts. */
export function envelope(items: readonly string[], requestId = 'r1'): string {
  return object([
    ['request_id', JSON.stringify(requestId)],
    ['event_type', '"stock_available_updated"'],
    ['request_time', String(T)],
    ['data', `{"items":[${items.join(',')}]}`],
  ]);
}

const anyEnvelope: fc.Arbitrary<string> = fc
  .tuple(fc.array(anyItem, { maxLength: 6 }), fc.array(edit(ENVELOPE), { maxLength: 2 }), fc.nat())
  .map(([items, edits, n]) =>
    edited(
      [
        ['request_id', `"r${n}"`],
        ['event_type', '"stock_available_updated"'],
        ['request_time', String(T)],
        ['data', `{"items":[${items.join(',')}]}`],
      ],
      edits,
    ),
  );

type ByteEdit = (bytes: Buffer) => Buffer;

const byteEdit: fc.Arbitrary<ByteEdit> = fc.oneof(
  fc.constantFrom<ByteEdit>(
    (bytes) => Buffer.concat([Uint8Array.of(0xef, 0xbb, 0xbf), bytes]),
    (bytes) => Buffer.from(bytes.toString('latin1'), 'utf16le'),
    (bytes) => Buffer.concat([bytes, bytes]),
    (bytes) => Buffer.concat([Buffer.from(' \t\r\n'), bytes, Buffer.from('\n')]),
  ),
  fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]): ByteEdit => (bytes) => {
    const copy = Buffer.from(bytes);
    if (copy.length > 0) copy[at % copy.length] = byte;
    return copy;
  }),
  fc.nat().map(
    (at): ByteEdit =>
      (bytes) =>
        bytes.subarray(0, bytes.length === 0 ? 0 : at % bytes.length),
  ),
  fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 4 })).map(([at, some]): ByteEdit => (bytes) => {
    const where = bytes.length === 0 ? 0 : at % bytes.length;
    return Buffer.concat([bytes.subarray(0, where), some, bytes.subarray(where)]);
  }),
);

export const anyBody: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  { weight: 4, arbitrary: anyEnvelope.map((text): Uint8Array => Buffer.from(text)) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(anyEnvelope, fc.array(byteEdit, { minLength: 1, maxLength: 2 }))
      .map(([text, edits]): Uint8Array =>
        edits.reduce<Buffer>((now, change) => change(now), Buffer.from(text)),
      ),
  },
);
