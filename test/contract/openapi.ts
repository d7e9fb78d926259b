/** Checks traffic against an OpenAPI 3.1 document. Each check throws ContractError naming the place. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { present } from '../shared/present.ts';
import document from './openapi.json' with { type: 'json' };

type Json = Readonly<Record<string, unknown>>;
/** From `fetch`, or by name in any case. */
type HeadersLike = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

type Exchange = { readonly method: string; readonly path: string };
type SeenAnswer = Exchange & {
  readonly status: number;
  readonly headers: HeadersLike;
  /** Parsed JSON; undefined when there was no body. */
  readonly body?: unknown;
};

class ContractError extends Error {
  override readonly name = 'ContractError';
}

/** The store's answers as documented. One object, since schemas are compiled once per document. */
export const STORE_API = document as object;

/** Checks status, headers and body. */
export function checkAnswer(document: object, answer: SeenAnswer): void {
  const { method, path, status } = answer;
  const place = `${method.toUpperCase()} ${path} → ${status}`;
  const operation = operationAt(document, ['paths', path], method, place);
  const responses = record(operation.value['responses']);
  const key = [String(status), `${String(status)[0]}XX`, 'default'].find((each) => each in responses);
  if (key === undefined) {
    throw new ContractError(
      `${place}: the status is not documented, only ${Object.keys(responses).join(', ')}`,
    );
  }
  const response = at(document, [...operation.pointer, 'responses', key]);
  for (const [name, header] of Object.entries(record(response.value['headers']))) {
    checkHeader(document, place, [...response.pointer, 'headers', name], {
      name,
      header: record(header),
      headers: answer.headers,
    });
  }
  checkBody(document, place, response, answer);
}

type Seen = { readonly headers: HeadersLike; readonly body?: unknown };
/** A node of the document after following every `$ref`, and its pointer. */
type Node = { readonly pointer: readonly string[]; readonly value: Json };

function checkHeader(
  document: object,
  place: string,
  pointer: readonly string[],
  seen: { name: string; header: Json; headers: HeadersLike },
): void {
  const { name } = seen;
  const { pointer: found, value: header } = at(document, pointer);
  const text = headerOf(seen.headers, name);
  if (text === undefined) {
    if (header['required'] === true) throw new ContractError(`${place}: header ${name} is missing`);
    return;
  }
  const { value: schema } = at(document, [...found, 'schema']);
  const isNumber = schema['type'] === 'integer' || schema['type'] === 'number';
  const value = isNumber && /^-?[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text;
  checkValue(document, `${place}: header ${name}`, [...found, 'schema'], value);
}

/** @param holder a response or a request body. */
function checkBody(document: object, place: string, holder: Node, seen: Seen): void {
  const content = record(holder.value['content']);
  const documented = Object.keys(content);
  if (documented.length === 0) {
    if (seen.body === undefined) return;
    throw new ContractError(`${place}: body: none is documented`);
  }
  if (seen.body === undefined) throw new ContractError(`${place}: body: missing`);
  const contentType = headerOf(seen.headers, 'Content-Type') ?? 'none';
  const mediaType = present(contentType.split(';')[0]).trim().toLowerCase();
  if (!documented.includes(mediaType)) {
    throw new ContractError(
      `${place}: header Content-Type: ${contentType} is not documented, only ${documented.join(', ')}`,
    );
  }
  checkValue(document, `${place}: body`, [...holder.pointer, 'content', mediaType, 'schema'], seen.body);
}

function headerOf(headers: HeadersLike, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase()) ?? [];
  return typeof value === 'string' ? value : value?.join(', ');
}

function operationAt(document: object, path: readonly string[], method: string, place: string): Node {
  try {
    return at(document, [...path, method.toLowerCase()]);
  } catch (cause) {
    throw new ContractError(`${place}: not in the document`, { cause });
  }
}

function at(document: object, steps: readonly string[]): Node {
  let node: Node = { pointer: [], value: record(document) };
  for (const step of steps) {
    const value = Object.hasOwn(node.value, step) ? node.value[step] : undefined;
    if (typeof value !== 'object' || value === null) {
      throw new Error(`the document has nothing at #/${[...node.pointer, step].join('/')}`);
    }
    node = { pointer: [...node.pointer, step], value: value as Json };
    const ref = node.value['$ref'];
    if (typeof ref === 'string') node = at(document, ref.replace(/^#\//, '').split('/').map(unescaped));
  }
  return node;
}

const escaped = (step: string): string =>
  encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));
const unescaped = (step: string): string =>
  decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');

function record(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

const compilers = new WeakMap<object, (pointer: readonly string[]) => ValidateFunction>();

/** Throws ContractError with every fault and its place in the value. */
function checkValue(document: object, place: string, pointer: readonly string[], value: unknown): void {
  const validate = schemaAt(document, pointer);
  if (validate(value)) return;
  const faults = present(validate.errors).map(
    ({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
  );
  throw new ContractError(`${place}: ${faults.join('; ')}; seen: ${JSON.stringify(value)}`);
}

/** Compiled once per document and place. */
function schemaAt(document: object, pointer: readonly string[]): ValidateFunction {
  let compile = compilers.get(document);
  if (compile === undefined) {
    compile = compilerOf(document);
    compilers.set(document, compile);
  }
  return compile(pointer);
}

function compilerOf(document: object): (pointer: readonly string[]) => ValidateFunction {
  // A subschema such as {"required": […]} has no type on purpose.
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, strictRequired: false });
  addFormats.default(ajv);
  // The compiler starts at the document's root, whose fields are no schema keywords.
  ajv.addVocabulary(Object.keys(document));
  // The library knows only the name; the schema has a pattern too.
  ajv.addFormat('idn-email', true);
  ajv.addSchema(document, 'document');
  const made = new Map<string, ValidateFunction>();
  return (pointer) => {
    const ref = `document#/${pointer.map(escaped).join('/')}`;
    const validate = made.get(ref) ?? ajv.compile({ $ref: ref });
    made.set(ref, validate);
    return validate;
  };
}
