import { z } from 'zod';
import { BODY_TOO_LARGE, MAX_BODY_BYTES } from '../../store-api/contract/body-limit.ts';
import { describeIssues } from '../../store-api/contract/issues.ts';
import { ApiError } from '../shared/errors.ts';

/** Faster than a web stream. Reads too large a body to its end, so that the caller sees the 413. */
export async function readBody(incoming: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += chunk.byteLength;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (size > MAX_BODY_BYTES) throw new ApiError(413, 'invalid_request', BODY_TOO_LARGE);
  return Buffer.concat(chunks);
}

/** @throws ApiError 400 `invalid_request` that names the field ("Conventions" 1, 4, 5, 8). */
export function parseJsonBody<Shape extends z.ZodRawShape>(
  raw: Buffer,
  contentType: string | undefined,
  schema: z.ZodObject<Shape>,
  options: { readonly optional: boolean },
): z.output<z.ZodObject<Shape>> {
  let body: unknown = {};
  if (raw.length > 0 || !options.optional) {
    if (!/^application\/json\s*(;|$)/i.test(contentType ?? '')) {
      throw new ApiError(400, 'invalid_request', 'Content-Type must be application/json');
    }
    body = parseJson(raw);
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ApiError(400, 'invalid_request', 'the body must be a JSON object');
  }
  return parseFields(schema, body);
}

export function parseFields<Schema extends z.ZodObject>(schema: Schema, fields: object): z.output<Schema> {
  const parsed = schema.safeParse(withoutNulls(fields, schema));
  if (parsed.success) return parsed.data;
  throw new ApiError(400, 'invalid_request', describeIssues(parsed.error, { most: Infinity }));
}

/** null means absent, except in unknown fields, which are refused, and in lists. */
function withoutNulls(value: unknown, schema: unknown): unknown {
  if (schema instanceof z.ZodOptional) return withoutNulls(value, schema.unwrap());
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item) => withoutNulls(item, schema.element));
  }
  if (
    !(schema instanceof z.ZodObject) ||
    typeof value !== 'object' ||
    value === null ||
    Array.isArray(value)
  ) {
    return value;
  }
  const shape = schema.shape as Record<string, unknown>;
  const knows = (key: string): boolean => Object.hasOwn(shape, key);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => inner !== null || !knows(key))
      .map(([key, inner]) => [key, knows(key) ? withoutNulls(inner, shape[key]) : inner]),
  );
}

function parseJson(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString('utf8'));
  } catch (cause) {
    throw new ApiError(400, 'invalid_request', `the body is not JSON: ${(cause as Error).message}`);
  }
}
