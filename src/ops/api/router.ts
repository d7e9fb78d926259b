/** What all endpoints of the API share: how requests are refused, and how that is described. */
import { OpenAPIHono } from '@hono/zod-openapi';
import type { z } from '@hono/zod-openapi';
import { errorBody, errorSchema } from '../shared/api-error.ts';
import type { OpsEnv } from '../shared/env.ts';

export type ApiRouter = OpenAPIHono<OpsEnv>;

/** A router that answers `invalid_request` and names the field when a schema refuses a request. */
export function apiRouter(): ApiRouter {
  return new OpenAPIHono<OpsEnv>({
    defaultHook: (result, c) => {
      if (result.success) return undefined;
      const of = result.target === 'query' ? 'parameter' : 'field';
      return c.json(errorBody('invalid_request', describe(result.error, of)), 400);
    },
  });
}

function describe({ issues: [issue] }: z.ZodError, of: 'parameter' | 'field'): string {
  if (issue === undefined) return 'the request was not understood';
  const where = issue.path.join('.');
  if (issue.code === 'unrecognized_keys')
    return `${[where, issue.keys[0]].filter(Boolean).join('.')}: unknown ${of}`;
  return `${where === '' ? 'the body' : where}: ${issue.message}`;
}

export function answers<S extends z.ZodType>(description: string, schema: S) {
  return { description, content: { 'application/json': { schema } } };
}

const refusal = (description: string) => answers(description, errorSchema);

/** Answers that every endpoint may give. */
const REFUSALS = {
  400: refusal('The request is wrong: `error_description` names the field'),
  401: refusal('The request has neither the bearer token nor a session'),
  403: refusal(
    'The request comes from another site; or no token is configured and its Host header does not name this machine',
  ),
  500: refusal('The mirror has failed: `error_description` says how'),
} as const;
const UNAVAILABLE = refusal(
  'The mirror cannot be read or written for now: `error_description` says why. Or this client holds too many streams and long polls: try again',
);
export const NOT_FOUND = refusal('Not found');
export const TOO_LARGE = refusal('The body is over 1 MB');

/** An endpoint's own answers, and those that every endpoint may give. */
export function withRefusals<T extends object>(
  own: T,
): Omit<{ 503: typeof UNAVAILABLE }, keyof T> & T & typeof REFUSALS {
  return { 503: UNAVAILABLE, ...own, ...REFUSALS };
}

export const EVENTS = 'text/event-stream';
