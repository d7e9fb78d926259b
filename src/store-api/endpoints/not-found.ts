/** The store's answer that there is no such thing: an outcome, not an error. */
import { ServiceError } from '../transport/errors.ts';
import type { AnswerTimes } from '../transport/errors.ts';

export interface NotFound extends AnswerTimes {
  readonly outcome: 'not_found';
  readonly requestId: string;
}

/**
 * Reads a failed call as the store's own 404 `not_found` (docs/store-api.md#errors, 2).
 *
 * @throws the error itself when it is anything else; a proxy's 404 says nothing about the requested thing.
 */
export function notFoundIn(error: unknown): NotFound {
  if (!(error instanceof ServiceError) || error.kind !== 'rejected') throw error;
  const { status, code, requestId, times } = error;
  if (status !== 404 || code !== 'not_found' || requestId === undefined || times === undefined) throw error;
  return { outcome: 'not_found', requestId, ...times };
}
