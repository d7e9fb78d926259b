/** The one way every `/v1` endpoint is called. docs/store-api.md#authentication, 1 and 4. */
import type { z } from 'zod';
import { readAnswer } from '../transport/answer.ts';
import type { Answer } from '../transport/answer.ts';
import { ServiceError } from '../transport/errors.ts';
import type { AnswerTimes } from '../transport/errors.ts';
import { checkRequest } from './check-request.ts';
import type { TokenProvider } from '../token/token.ts';
import type { Transport } from '../transport/transport.ts';

export interface CallDeps {
  readonly transport: Transport;
  readonly tokens: Pick<TokenProvider, 'getToken' | 'invalidate'>;
  /** Never sent by a call; an error must not hold it even if the other side repeats it. */
  readonly clientSecret: string;
  readonly newRequestId: () => string;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface Answered extends AnswerTimes {
  readonly requestId: string;
}

export interface NotFound extends Answered {
  readonly outcome: 'not_found';
}

/**
 * Checks `body`, sends it with a token, and checks the answer. A 401 `invalid_token` is retried once with a new
 * token; nothing else is retried here.
 *
 * @throws ServiceError of any kind.
 */
export type Call = <Q extends z.ZodType, A extends z.ZodType>(
  asked: {
    readonly endpoint: string;
    readonly requestSchema: Q;
    readonly answerSchema: A;
    readonly body: DeepReadonly<z.input<Q>>;
  },
  options?: CallOptions,
) => Promise<Answer<z.output<A>>>;

/** Nothing that is sent is changed here, so read-only objects can be sent too. */
type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

export function createCall({ transport, tokens, clientSecret, newRequestId }: CallDeps): Call {
  return async ({ endpoint, requestSchema, answerSchema, body }, { signal } = {}) => {
    const json = JSON.stringify(checkRequest(endpoint, requestSchema, body));

    async function attempt(token: string) {
      const requestId = newRequestId();
      const request = {
        endpoint,
        requestId,
        contentType: 'application/json',
        token,
        body: json,
        signal,
      } as const;
      const response = await transport(request);
      return readAnswer(request, response, answerSchema, [token, clientSecret]);
    }

    const cached = await tokens.getToken({ signal });
    try {
      return await attempt(cached);
    } catch (error) {
      if (!isInvalidToken(error)) throw error;
      tokens.invalidate(cached);
    }
    const renewed = await tokens.getToken({ signal });
    try {
      return await attempt(renewed);
    } catch (error) {
      if (!isInvalidToken(error)) throw error;
      tokens.invalidate(renewed);
      throw error.as('unauthorized');
    }
  };
}

function isInvalidToken(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.status === 401 && error.code === 'invalid_token';
}

/**
 * Reads a failed call as the store's own 404 `not_found`: an outcome, not an error.
 *
 * @throws the error itself when it is anything else; a proxy's 404 says nothing about the requested thing.
 */
export function notFoundIn(error: unknown): NotFound {
  if (!(error instanceof ServiceError) || error.kind !== 'rejected') throw error;
  const { status, code, requestId, times } = error;
  if (status !== 404 || code !== 'not_found' || requestId === undefined || times === undefined) throw error;
  return { outcome: 'not_found', requestId, ...times };
}
