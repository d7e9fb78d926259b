/** A command that tries one operation of an API document: required parameters and fields have values of the right form. */

import { shellWord } from './shell-word.ts';

export type Schema = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: Schema;
}

export interface Trial {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Its media type and schema; null: it has none. */
  readonly body: { readonly type: string; readonly schema: Schema } | null;
  /** The answer goes on and on: it is printed as it comes. */
  readonly isStream: boolean;
}

/** Of the listener that the reader looks at. */
export interface Tried {
  /** `http://127.0.0.1:8788`. */
  readonly base: string;
  /** The schemas that `$ref` names. */
  readonly schemas: Readonly<Record<string, Schema>>;
  /** For the shell, which is to fill in a secret: `Authorization: Bearer $OPS_TOKEN`. Null: none is asked for. */
  readonly header: string | null;
  /** Values of fields, by name, where any value of the right form would be refused. */
  readonly values: Readonly<Record<string, string>>;
}

const DEEPEST = 12;

export function curlSample({ method, path, parameters, body, isStream }: Trial, tried: Tried): string {
  const required = parameters.filter((parameter) => parameter.required === true);
  const sampled = (parameter: Parameter): string =>
    textOf(sampleOf(parameter.schema ?? {}, tried, { name: parameter.name, depth: 0 }));
  const filled = path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    encodeURIComponent(sampled(required.find((each) => each.name === name) ?? { name, in: 'path' })),
  );
  const query = new URLSearchParams(
    required
      .filter((each) => each.in === 'query')
      .map((each): [string, string] => [each.name, sampled(each)]),
  ).toString();
  return [
    isStream ? 'curl -sSN' : 'curl -sS',
    ...(method === 'GET' || body !== null ? [] : [`-X ${method}`]),
    shellWord(`${tried.base}${filled}${query === '' ? '' : `?${query}`}`),
    ...(tried.header === null ? [] : [`-H "${tried.header}"`]),
    ...(body === null ? [] : bodyOf(body, tried)),
  ].join(' ');
}

function bodyOf(
  { type, schema }: { readonly type: string; readonly schema: Schema },
  tried: Tried,
): string[] {
  const sample = sampleOf(schema, tried, { name: '', depth: 0 });
  if (type !== 'application/x-www-form-urlencoded')
    return [`-H ${shellWord(`Content-Type: ${type}`)}`, `-d ${shellWord(JSON.stringify(sample))}`];
  return Object.entries(sample as object).map(
    ([name, value]) => `--data-urlencode ${shellWord(`${name}=${textOf(value)}`)}`,
  );
}

function sampleOf(
  schema: Schema,
  tried: Tried,
  { name, depth }: { readonly name: string; readonly depth: number },
): unknown {
  const of = (next: Schema, nextName = name): unknown =>
    sampleOf(next, tried, { name: nextName, depth: depth + 1 });
  const known = tried.values[name];
  if (known !== undefined) return known;
  if (depth > DEEPEST) return null;
  const ref = schema['$ref'];
  if (typeof ref === 'string') return of(tried.schemas[ref.split('/').at(-1) ?? ''] ?? {});
  if (schema['const'] !== undefined) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  const among = alternativesOf(schema);
  if (schema['type'] === undefined && among[0] !== undefined) return of(among[0]);
  const type = Array.isArray(schema['type']) ? (schema['type'] as unknown[])[0] : schema['type'];
  switch (type) {
    case 'object': {
      const properties = (schema['properties'] ?? {}) as Record<string, Schema>;
      return Object.fromEntries(requiredOf(schema).map((each) => [each, of(properties[each] ?? {}, each)]));
    }
    case 'array':
      return [of((schema['items'] ?? {}) as Schema)];
    case 'integer':
    case 'number':
      return Math.max(1, typeof schema['minimum'] === 'number' ? schema['minimum'] : 1);
    case 'boolean':
      return false;
    default:
      return '1';
  }
}

function alternativesOf(schema: Schema): readonly Schema[] {
  const among = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'];
  return Array.isArray(among) ? (among as Schema[]) : [];
}

/** Of several sets of which one is required, the first. */
function requiredOf(schema: Schema): string[] {
  const own = [schema, ...alternativesOf(schema).slice(0, 1)];
  return [...new Set(own.flatMap((each) => (each['required'] ?? []) as string[]))];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
