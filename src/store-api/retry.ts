/**
 * When a failed call is made again (docs/store-api.md#errors, 4). For programs that call the store now and then;
 * the mirror paces its reads by itself and uses none of this.
 */
import { fullJitterMs } from '../traffic/backoff.ts';
import type { BackoffPolicy } from '../traffic/backoff.ts';
import { ServiceError } from './transport/errors.ts';
import { TOKEN_ENDPOINT } from './token/token-request.ts';

export interface RetryPolicy extends BackoffPolicy {
  /** How often one call is made at most, the first time included; 1 means no retry. */
  readonly attempts: number;
  /** The longest pause requested by the store that is waited out; a longer one is left to the caller. */
  readonly maxWaitMs: number;
}

/** The store counts token requests per minute, so a minute is the longest usual pause. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  attempts: 4,
  baseMs: 500,
  capMs: 10_000,
  maxWaitMs: 60_000,
};

interface FailedCall {
  readonly failures: number;
  readonly isRepeatable: boolean;
  readonly policy: RetryPolicy;
  readonly random: number;
}

/**
 * How long to wait before the call is made again, in ms; null: not at all.
 *
 * 429 waits at least for its `Retry-After`. A 5xx, a network failure or a timeout waits with full jitter, and is
 * final for a call that must not be carried out twice. Everything else is final: a refused token has been replaced
 * already.
 *
 * @param failures how often the call has failed, 1 or more.
 * @param isRepeatable carrying the call out twice has the same effect as once.
 * @param random in [0, 1).
 */
export function retryDelayMs(
  error: unknown,
  { failures, isRepeatable, policy, random }: FailedCall,
): number | null {
  if (!(error instanceof ServiceError) || failures >= policy.attempts) return null;
  if (!isWorthAnother(error, { isRepeatable })) return null;
  const askedMs = error.retryAfterMs ?? 0;
  if (askedMs > policy.maxWaitMs) return null;
  // On top of the requested pause: many clients that got the same answer must not come back at the same instant.
  return askedMs + fullJitterMs(failures, policy, random);
}

function isWorthAnother(
  { kind, endpoint }: ServiceError,
  { isRepeatable }: { readonly isRepeatable: boolean },
): boolean {
  switch (kind) {
    case 'rate_limited':
      return true;
    case 'unavailable':
      // Without a token the call itself was not carried out.
      return isRepeatable || endpoint === TOKEN_ENDPOINT;
    case 'rejected':
    case 'unauthorized':
    case 'credentials':
    case 'contract':
    case 'aborted':
      return false;
  }
}

interface RetryDeps {
  readonly policy: RetryPolicy;
  /** Resolves after `ms`, or as soon as the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** In [0, 1). */
  readonly random: () => number;
}

/** @throws ServiceError: the last attempt's, or of kind `aborted` when the signal ended the wait for the next. */
export type Retry = <T>(
  call: { readonly isRepeatable: boolean },
  attempt: () => Promise<T>,
  signal: AbortSignal,
) => Promise<T>;

/** @throws RangeError for a policy without a first attempt. */
export function createRetry({ policy, sleep, random }: RetryDeps): Retry {
  if (!Number.isInteger(policy.attempts) || policy.attempts < 1)
    throw new RangeError(`attempts must be a whole number of at least 1, not ${policy.attempts}`);
  return async ({ isRepeatable }, attempt, signal) => {
    for (let failures = 1; ; failures += 1) {
      try {
        return await attempt();
      } catch (error) {
        const delayMs = retryDelayMs(error, { failures, isRepeatable, policy, random: random() });
        if (delayMs === null) throw error;
        await sleep(delayMs, signal);
        if (signal.aborted) throw abortedAfter(error as ServiceError);
      }
    }
  };
}

function abortedAfter(cause: ServiceError): ServiceError {
  const { endpoint, requestId } = cause;
  const description = `aborted while waiting to try again after: ${cause.description}`;
  return new ServiceError({ kind: 'aborted', endpoint, requestId, description, cause });
}
