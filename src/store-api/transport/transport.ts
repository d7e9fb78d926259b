import type { AnswerTimes } from './errors.ts';

export interface TransportRequest {
  /** Below the base URL, with a leading slash. Every request is a POST. */
  readonly endpoint: string;
  /** Sent as `X-Request-Id`. */
  readonly requestId: string;
  readonly contentType: 'application/json' | 'application/x-www-form-urlencoded';
  /** Bearer token; undefined on the token endpoint. */
  readonly token?: string | undefined;
  readonly body: string;
  readonly signal?: AbortSignal | undefined;
}

export interface TransportResponse extends AnswerTimes {
  readonly status: number;
  /** Names in lowercase. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * Resolves with the complete answer, whatever its status. Otherwise rejects with a ServiceError: `unavailable`
 * (network, timeout), `contract` (answer too large) or `aborted`.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;
