/** Any value that a schema of the document allows. */
import fc from 'fast-check';
import { present } from '../shared/present.ts';
import type { Json } from './bodies.ts';
import { schemaAt } from './openapi.ts';

type Schema = {
  $ref?: string;
  type?: string;
  enum?: Json[];
  pattern?: string;
  format?: string;
  minLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  items?: Schema;
  minItems?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  allOf?: Schema[];
};

/** Values for the schema at the pointer, with fields that it does not know: more may come at any time. */
export function documentedValues(document: object, pointer: readonly string[]): fc.Arbitrary<Json> {
  const allowed = schemaAt(document, pointer);
  // Rules between fields, such as "not both", are left to the schema itself.
  return valuesOf(document, lookUp(document, pointer)).filter((value) => allowed(value));
}

function valuesOf(document: object, schema: Schema): fc.Arbitrary<Json> {
  if (schema.$ref !== undefined) {
    return valuesOf(document, lookUp(document, schema.$ref.replace('#/', '').split('/')));
  }
  if (schema.allOf !== undefined) {
    const parts = schema.allOf.map((part) => valuesOf(document, part));
    return fc.tuple(...parts).map((values) => Object.assign({}, ...values) as Json);
  }
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'string':
      return texts(schema);
    case 'integer':
      return fc.maxSafeInteger().map((value) => within(value, schema));
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valuesOf(document, present(schema.items)), {
        minLength: schema.minItems ?? 0,
        maxLength: 3,
      });
    case 'object':
      return objects(document, schema);
    case undefined:
    default:
      throw new Error(`no values are known for ${JSON.stringify(schema)}`);
  }
}

function texts({ pattern, format, minLength = 0 }: Schema): fc.Arbitrary<string> {
  if (format === 'uri') return fc.webUrl({ withQueryParameters: true, withFragments: true });
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u'));
  return fc.string({ unit: 'binary', minLength });
}

function within(value: number, { minimum, exclusiveMinimum, maximum = Number.MAX_SAFE_INTEGER }: Schema) {
  const least = minimum ?? (exclusiveMinimum === undefined ? Number.MIN_SAFE_INTEGER : exclusiveMinimum + 1);
  return value >= least && value <= maximum ? value : least + (Math.abs(value) % (maximum - least + 1));
}

function objects(document: object, { properties = {}, required = [] }: Schema): fc.Arbitrary<Json> {
  const known = Object.entries(properties).map(([name, schema]) => [name, valuesOf(document, schema)]);
  const fields = fc.record(Object.fromEntries(known) as Record<string, fc.Arbitrary<Json>>, {
    requiredKeys: required,
  });
  const unknown = fc.record({ new_field: fc.jsonValue() as fc.Arbitrary<Json> }, { requiredKeys: [] });
  return fc.tuple(unknown, fields).map(([more, value]) => ({ ...more, ...value }));
}

function lookUp(document: object, pointer: readonly string[]): Schema {
  return pointer.reduce<unknown>((node, step) => (node as Record<string, unknown>)[step], document) as Schema;
}
