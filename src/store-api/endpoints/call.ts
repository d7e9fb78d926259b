import type { z } from 'zod';
import { describeIssues } from '../contract/issues.ts';
import { readAnswer, type Answer } from '../transport/answer.ts';
import { ServiceError, type AnswerTimes } from '../transport/errors.ts';
import type { TokenProvider } from '../token/token.ts';
import type { Transport } from '../transport/transport.ts';

export interface CallDeps {
  readonly transport: Transport;
  readonly tokens: Pick<TokenProvider, 'getToken' | 'invalidate'>;
  /** Not sent by a call, but removed from errors in case the other side repeats it. */
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

/** Checks body and answer. Retries only a 401 `invalid_token`, once. @throws ServiceError of any kind. */
export type Call = <Q extends z.ZodType, A extends z.ZodType>(
  request: ApiRequest<Q, A>,
  options?: CallOptions,
) => Promise<Answer<z.output<A>>>;

interface ApiRequest<Q extends z.ZodType, A extends z.ZodType> {
  readonly endpoint: string;
  readonly requestSchema: Q;
  readonly answerSchema: A;
  readonly body: DeepReadonly<z.input<Q>>;
}

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

export function createCall({ transport, tokens, clientSecret, newRequestId }: CallDeps): Call {
  return async ({ endpoint, requestSchema, answerSchema, body }, { signal } = {}) => {
    const json = JSON.stringify(checkRequest(endpoint, requestSchema, body));
    const contentType = 'application/json';
    for (let isSecond = false; ; isSecond = true) {
      const token = await tokens.getToken({ signal });
      const request = {
        endpoint,
        requestId: newRequestId(),
        contentType,
        token,
        body: json,
        signal,
      } as const;
      const response = await transport(request);
      try {
        return readAnswer(request, response, answerSchema, [token, clientSecret]);
      } catch (error) {
        if (!isInvalidToken(error)) throw error;
        tokens.invalidate(token);
        if (isSecond) throw error.as('unauthorized');
      }
    }
  };
}

function isInvalidToken(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.status === 401 && error.code === 'invalid_token';
}

/**
 * The store's own 404 `not_found` is an outcome; a proxy's 404 is an error. @param mismatch why the answer is for
 * another record, or null. @throws ServiceError
 */
export async function readOne<Q extends z.ZodType, A extends z.ZodType>(
  call: Call,
  request: ApiRequest<Q, A>,
  options: CallOptions | undefined,
  mismatch: (value: z.output<A>) => string | null,
): Promise<NotFound | (Answer<z.output<A>> & { readonly outcome: 'found' })> {
  try {
    const answer = await call(request, options);
    const { value, json: _, requestId, ...times } = answer;
    const description = mismatch(value);
    if (description === null) return { outcome: 'found', ...answer };
    const { endpoint } = request;
    throw new ServiceError({ kind: 'contract', endpoint, requestId, status: 200, description, times });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'rejected') throw error;
    const { status, code, requestId, times } = error;
    if (status !== 404 || code !== 'not_found' || requestId === undefined || times === undefined) throw error;
    return { outcome: 'not_found', requestId, ...times };
  }
}

const MOST_NAMED = 20;

/** Copies the body as it will be sent. @throws ServiceError `rejected`, `invalid_request`, naming the wrong fields. */
export function checkRequest<Q extends z.ZodType>(endpoint: string, schema: Q, body: unknown): z.output<Q> {
  const parsed = schema.safeParse(withoutNulls(body));
  if (parsed.success) return parsed.data;
  throw new ServiceError({
    kind: 'rejected',
    endpoint,
    code: 'invalid_request',
    description: `${describeIssues(parsed.error, { most: MOST_NAMED })} (not sent)`,
  });
}

/** null means absent ("Conventions" 4), except in a list, where it is refused. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const present = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(present.map(([key, inner]) => [key, withoutNulls(inner)]));
}
