/** What every endpoint of the API shares: how requests are refused, and how that is described. */
import { OpenAPIHono } from '@hono/zod-openapi';
import type { z } from '@hono/zod-openapi';
import { errorBody, errorSchema } from '../api-error.ts';
import type { OpsEnv } from '../env.ts';

export type ApiRouter = OpenAPIHono<OpsEnv>;

/** A router that answers what its schemas refuse with `invalid_request`, naming the field. */
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

/** Of every endpoint. */
const REFUSALS = {
  400: refusal('Something in the request is wrong: the description names it'),
  401: refusal('Neither the bearer token nor a session'),
  403: refusal('From another site, or by a name that is not this machine’s where no token is configured'),
  500: refusal('The database could not be read: the description says why'),
} as const;
export const NOT_FOUND = refusal('There is no such thing');
export const TOO_LARGE = refusal('The body is over 1 MB');
export const TOO_MANY = refusal('Too many streams and long polls are open: try again');

/** An endpoint's own answers, and those of every endpoint. */
export function withRefusals<T extends object>(own: T): T & typeof REFUSALS {
  return { ...own, ...REFUSALS };
}

export const EVENTS = 'text/event-stream';
