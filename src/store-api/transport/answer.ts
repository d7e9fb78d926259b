import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { ServiceError, type AnswerTimes, type ServiceErrorInit } from './errors.ts';
import { retryAfterMs } from './http-date.ts';
import { describeIssues } from '../contract/issues.ts';
import { errorResponseSchema } from '../contract/schemas.ts';
import type { TransportRequest, TransportResponse } from './transport.ts';

export interface Answer<T> extends AnswerTimes {
  readonly value: T;
  /** The JSON as received, with unknown fields. */
  readonly json: unknown;
  readonly requestId: string;
}

/**
 * @param secrets removed from errors in case the other side repeats them.
 * @throws ServiceError for a status other than 2xx, and of kind `contract` for a 2xx of another shape.
 */
export function readAnswer<S extends z.ZodType>(
  request: TransportRequest,
  response: TransportResponse,
  schema: S,
  secrets: readonly string[],
): Answer<z.output<S>> {
  const { sentAtMs, receivedAtMs, serverDateMs } = response;
  const times = { sentAtMs, receivedAtMs, serverDateMs };
  const requestId = response.headers['x-request-id'] ?? request.requestId;
  const { endpoint } = request;
  const { status } = response;
  const fail = (init: Pick<ServiceErrorInit, 'kind' | 'description' | 'code' | 'retryAfterMs'>) =>
    new ServiceError({ endpoint, requestId, status, times, secrets, ...init });

  const json = parseJson(response.body);
  if (status < 200 || status > 299) throw fail(classify(response, json));
  if (json === undefined) {
    const expected = isUtf8(response.body) ? 'JSON' : 'UTF-8 text';
    throw fail({ kind: 'contract', description: `the answer is not ${expected}` });
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw fail({ kind: 'contract', description: describeIssues(parsed.error) });
  return { value: parsed.data, json, requestId, ...times };
}

function classify(response: TransportResponse, json: unknown) {
  const error = errorResponseSchema.safeParse(json);
  const code = error.success ? error.data.error : undefined;
  const description = error.success
    ? error.data.error_description
    : "the answer is not the error JSON of the store's API";
  const details = { code, description, retryAfterMs: retryAfterMs(response) };
  if (response.status === 429) return { kind: 'rate_limited', ...details } as const;
  if (response.status >= 500) return { kind: 'unavailable', ...details } as const;
  // A proxy's 404 or redirect says nothing about the requested record.
  const isOurs = error.success && response.status >= 400;
  return { kind: isOurs ? 'rejected' : 'contract', ...details } as const;
}

/** undefined if it is not JSON. The parser's error would quote the text, which may contain a token. */
function parseJson(body: Uint8Array): unknown {
  try {
    // Fatal: a replaced byte would silently become part of a name or SKU.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
