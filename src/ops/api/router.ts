/** Shared by all endpoints: parameters, lists, errors, and their descriptions. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi';
import { describeIssues } from '../../store-api/contract/issues.ts';
import { errorBody } from '../shared/error-body.ts';
import { errorSchema } from '../shared/error-schema.ts';
import type { OpsEnv } from '../shared/env.ts';

export type ApiRouter = OpenAPIHono<OpsEnv>;

export function apiRouter(): ApiRouter {
  return new OpenAPIHono<OpsEnv>({
    defaultHook: (result, c) => {
      if (result.success) return undefined;
      const key = result.target === 'query' ? 'parameter' : 'field';
      return c.json(
        errorBody('invalid_request', describeIssues(result.error, { key, whole: 'the body' })),
        400,
      );
    },
  });
}

export function answers<S extends z.ZodType>(description: string, schema: S) {
  return { description, content: { 'application/json': { schema } } };
}

const refusal = (description: string) => answers(description, errorSchema);
export const NOT_FOUND = refusal('Not found');

const REFUSALS = {
  400: refusal('The request is wrong: `error_description` names the field'),
  401: refusal('The request has neither a bearer token nor a session'),
  403: refusal(
    'The request comes from another site, its token or session does not allow it, or no token is ' +
      'configured and its Host header is not this machine',
  ),
  500: refusal('The mirror has failed: `error_description` says how'),
} as const;
const UNAVAILABLE = refusal(
  'The mirror cannot be read or written at the moment, or this client holds too many ' +
    'streams: `error_description` says which',
);

export function withRefusals<T extends object>(
  own: T,
): Omit<{ 503: typeof UNAVAILABLE }, keyof T> & T & typeof REFUSALS {
  return { 503: UNAVAILABLE, ...own, ...REFUSALS };
}

interface About {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
}

export function reading<P extends string, Q extends z.ZodRawShape, A extends z.ZodType>(
  path: P,
  { query, answer, ...about }: About & { readonly query: Q; readonly answer: A },
) {
  const responses = withRefusals({ 200: answers('The answer', answer) });
  return createRoute({ method: 'get', path, ...about, request: { query: z.strictObject(query) }, responses });
}

export const EVENTS = {
  description: 'Events, until either side closes the stream',
  content: { 'text/event-stream': { schema: z.string() } },
};

export function wholeNumber(min: number, max: number, description: string) {
  const problem = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^(0|[1-9][0-9]{0,15})$/, problem)
    .transform(Number)
    .refine((value) => value >= min && value <= max, problem)
    .openapi({ type: 'integer', minimum: min, maximum: max, description });
}

export const seqParameter = (description: string) => wholeNumber(0, Number.MAX_SAFE_INTEGER, description);

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;

export const limitParameter = wholeNumber(1, MAX_LIMIT, 'The largest number of rows on a page.')
  .optional()
  .transform((value) => value ?? DEFAULT_LIMIT)
  .openapi({ type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT });

export const flagParameter = (description: string) =>
  z
    .enum(['0', '1'], 'must be 0 or 1')
    .transform((value) => value === '1')
    .optional()
    .openapi({ type: 'string', enum: ['0', '1'], description });

export const newestFirst = {
  after: seqParameter('The `next` of the previous page: older rows follow.').optional(),
  limit: limitParameter,
};

export const listEnd = {
  next: z.string().nullable().meta({ description: 'Where the next page begins; null on the last page.' }),
  has_more: z.boolean().meta({ description: 'There may be more rows: ask again with `after` = `next`.' }),
};

export function endOf(next: string | number | null | undefined) {
  return { next: next?.toString() ?? null, has_more: next !== null && next !== undefined };
}
