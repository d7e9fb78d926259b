/**
 * The boundary between the client and the network. Whatever carries requests (sockets, a simulation) is one function;
 * the code above it has no timers and opens no sockets.
 */
import type { AnswerTimes } from './errors.ts';

export interface TransportRequest {
  /** Path below the base URL, with a leading slash. Every request is a POST. */
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
 * Sends one request and resolves with the whole answer, whatever its status. Without a whole answer it rejects with a
 * ServiceError: `unavailable` (network, timeout), `contract` (answer too large) or `aborted`.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;
