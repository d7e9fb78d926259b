/** Refuses what the store would refuse, in its words, before a request is spent on it. */
import type { z } from 'zod';
import { describeIssues } from '../transport/answer.ts';
import { ServiceError } from '../transport/errors.ts';

/** A list of a thousand lines may be wrong in each. */
const MOST_NAMED = 20;

/**
 * @returns a copy of the body, as it will be sent.
 * @throws ServiceError of kind `rejected`, code `invalid_request`, naming the fields that are wrong.
 */
export function checkRequest<Q extends z.ZodType>(endpoint: string, schema: Q, body: unknown): z.output<Q> {
  const parsed = schema.safeParse(withoutNulls(body));
  if (parsed.success) return parsed.data;
  throw new ServiceError({
    kind: 'rejected',
    endpoint,
    code: 'invalid_request',
    description: `${describeIssues(parsed.error, [], MOST_NAMED)} (not sent)`,
  });
}

/** Null means absent ("Conventions" 4). In a list nothing can be absent, so a null stays there and is refused. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const told = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(told.map(([key, inner]) => [key, withoutNulls(inner)]));
}
