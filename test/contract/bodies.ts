/** Request bodies: right ones, with a few things changed in them, and values for any field of a schema. */
import fc from 'fast-check';
import { present } from '../shared/present.ts';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

const TINY = `0.${'0'.repeat(400)}1`;
/** On both sides of each limit that a request has. */
const VALUES: readonly Json[] = [
  ...[null, true, false, '', 'A', '5', '0005', '5 ', '٣'],
  ...[0, 1, -1, 1.5, 100, 101, 200, 201, 1e300, 2 ** 53 - 1, 2 ** 53, -(2 ** 53)],
  ...[9_999, 10_000, 99_999, 100_000, 99_999_999_999, 100_000_000_000, 1_769_000_000_000],
  ...['1.50', '-1', '-0', '-0.00', '.5', '1.', '1e3', '+1', '٣.٥', `-${TINY}`, TINY],
  ...['ems', 'pigeon', 'h', 'x', 'name', 'desc', 'client_credentials'],
  ...['a@b', 'ä@ü', 'a b@c', '"a"@b', 'a@', `${'a'.repeat(65)}@b`],
  ...[128, 129, 1_000, 1_001].flatMap((length) => ['x'.repeat(length), '😀'.repeat(length)]),
  ...['\ud83d'.repeat(128), '\ud83d'.repeat(129)],
  ...[[], {}, [null], [{}], { name: 'a' }, { sku: 'A', qty: 1 }, [{ sku: 'A', qty: 1 }]],
  ...[
    [{ product_variant_id: '7', qty: 1 }],
    [
      { sku: 'A', qty: 1 },
      { sku: 'B', qty: 1, product_variant_id: '7' },
    ],
  ],
];
const UNKNOWN = ['store_id', '__proto__', 'constructor', 'toString', ''];

export type Place = readonly (string | number)[];
type Change = { readonly place: Place; readonly value: Json | undefined };

/**
 * A right body with up to four changes.
 *
 * @param fields of the body, and of what is in it.
 */
export function changedBodies(right: readonly JsonObject[], fields: readonly Place[]): fc.Arbitrary<Json> {
  const parents = [[], ...new Set(fields.map((place) => place.slice(0, -1)))];
  const unknown = fc.tuple(fc.constantFrom(...parents), fc.constantFrom(...UNKNOWN));
  const place = fc.oneof(
    { arbitrary: fc.constantFrom(...fields), weight: 30 },
    { arbitrary: unknown.map(([parent, name]) => [...parent, name]), weight: 1 },
  );
  const value = fc.oneof(
    { arbitrary: fc.constantFrom(undefined, null), weight: 2 },
    { arbitrary: fc.constantFrom(...VALUES), weight: 6 },
    { arbitrary: fc.jsonValue() as fc.Arbitrary<Json>, weight: 1 },
  );
  const changes = fc.array(fc.record({ place, value }), { maxLength: 4 });
  return fc.tuple(fc.constantFrom(...right), changes).map(([body, made]) => made.reduce<Json>(changed, body));
}

/** Each right body with each of the values in each of the fields, and with each field gone. */
export function* changedOnce(right: readonly JsonObject[], fields: readonly Place[]): Generator<Json> {
  for (const body of right) {
    yield body;
    for (const place of fields) {
      for (const value of [undefined, ...VALUES]) yield changed(body, { place, value });
    }
  }
}

/** A copy with the value at the place; undefined takes it away. A place that is not there is left alone. */
function changed(body: Json, { place, value }: Change): Json {
  const copy = structuredClone(body);
  let holder: Json | undefined = copy;
  for (const step of place.slice(0, -1)) {
    holder = isHolder(holder) && Object.hasOwn(holder, step) ? holder[step] : undefined;
  }
  if (!isHolder(holder)) return copy;
  const name = present(place.at(-1));
  if (value === undefined) {
    if (!Array.isArray(holder)) Reflect.deleteProperty(holder, name);
  } else {
    // As JSON.parse would: a field may be called "__proto__".
    Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return copy;
}

function isHolder(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null;
}
