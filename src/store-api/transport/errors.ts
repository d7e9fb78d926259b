import { safeText } from './safe-text.ts';

/**
 * - `rejected`: the store refused the request (4xx with its error JSON), or the client refused it before sending.
 * - `unavailable`: a 5xx, network failure or timeout; try again later.
 * - `rate_limited`: 429, or a token request held back because of one; wait `retryAfterMs`.
 * - `unauthorized`: 401 `invalid_token` for a second token too.
 * - `credentials`: the client id or secret was refused; no further token request is made.
 * - `contract`: the answer is not the store's or breaks its contract: not JSON, wrong shape, another record.
 * - `too_large`: the answer is larger than this client takes.
 * - `aborted`: by the caller's signal, or because the client was closed.
 */
export type ServiceErrorKind =
  | 'rejected'
  | 'unavailable'
  | 'rate_limited'
  | 'unauthorized'
  | 'credentials'
  | 'contract'
  | 'too_large'
  | 'aborted';

/** When a request was sent and answered. Local times are epoch ms of the injected clock. */
export interface AnswerTimes {
  /** Just before the request was passed to the network. */
  readonly sentAtMs: number;
  /** When the last byte of the answer had arrived. */
  readonly receivedAtMs: number;
  /** The `Date` header, whole seconds, epoch ms; null if absent or unreadable. */
  readonly serverDateMs: number | null;
}

type Optional = 'requestId' | 'status' | 'code' | 'retryAfterMs' | 'times' | 'cause';

export interface ServiceErrorInit
  extends Pick<ServiceError, 'kind' | 'endpoint' | 'description'>, Partial<Pick<ServiceError, Optional>> {
  /** Removed from all texts, in case the other side repeats them. Not kept. */
  readonly secrets?: readonly string[];
}

/** The only error that calls to the store throw (docs/store-api.md#errors). It contains no secret. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly kind: ServiceErrorKind;
  /** The path, such as `/v1/product/detail`. */
  readonly endpoint: string;
  /** HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  /** The store's `error`, for branching; undefined if the answer had none. */
  readonly code: string | undefined;
  /** The store's `error_description`, or the client's finding. For people only. */
  readonly description: string;
  /** The answer's `X-Request-Id`, else the request's; undefined if nothing was sent. */
  readonly requestId: string | undefined;
  /** Delay before another attempt, if known. */
  readonly retryAfterMs: number | undefined;
  /** Undefined without an answer. */
  readonly times: AnswerTimes | undefined;

  constructor(init: ServiceErrorInit) {
    const secrets = init.secrets ?? [];
    const safe = (text: string | undefined) => (text === undefined ? undefined : safeText(text, secrets));
    const code = safe(init.code);
    const description = safeText(init.description, secrets);
    const requestId = safe(init.requestId);
    const what = summary({ status: init.status, code, description });
    super(
      `${init.endpoint} failed: ${what}${requestId === undefined ? '' : ` (request ${requestId})`}. ${remedy(init)}`,
      init.cause === undefined ? undefined : { cause: init.cause },
    );
    this.kind = init.kind;
    this.endpoint = init.endpoint;
    this.status = init.status;
    this.code = code;
    this.description = description;
    this.requestId = requestId;
    this.retryAfterMs = init.retryAfterMs;
    this.times = init.times;
  }

  /** The same error of another kind. */
  as(kind: ServiceErrorKind): ServiceError {
    const { endpoint, status, code, description, requestId, retryAfterMs, times, cause } = this;
    const rest = { endpoint, status, code, description, requestId, retryAfterMs, times, cause };
    return new ServiceError({ kind, ...rest });
  }
}

/** The store answers, and would answer the same request in the same way. */
export function isFinal({ kind }: Pick<ServiceError, 'kind'>): boolean {
  return kind === 'rejected' || kind === 'too_large';
}

/** Such as `500 server_error: its description`; the caller adds the full stop. */
export function summary(failure: Pick<ServiceError, 'status' | 'code' | 'description'>): string {
  const answered = [failure.status, failure.code].filter((part) => part !== undefined).join(' ');
  const parts = [answered, failure.description.replace(/\.$/, '')];
  return parts.filter((part) => part !== '').join(': ');
}

function remedy(init: ServiceErrorInit): string {
  const { kind, code, retryAfterMs } = init;
  if (mayHaveOrdered(init))
    return (
      'The order may have been created: repeat it only with the same external_order_id; ' +
      'without one, look for it in the store first.'
    );
  switch (kind) {
    case 'rejected':
      if (code === 'quota_exceeded') return "The store's owner must extend the order quota.";
      if (code === 'access_denied') return 'Ask the store to allow this channel to do it.';
      return 'The same request will be refused again: correct it.';
    case 'unavailable':
      return retryAfterMs === undefined ? 'Try again later.' : `Try again in ${seconds(retryAfterMs)}.`;
    case 'rate_limited':
      return retryAfterMs === undefined ? 'Send less often.' : `Wait ${seconds(retryAfterMs)}.`;
    case 'unauthorized':
      return 'A new token was refused too: check that the base URL and the credentials belong together.';
    case 'credentials':
      return (
        'Correct the client id or secret: until then, or until an operator lifts the lockout, ' +
        'no token is requested.'
      );
    case 'contract':
      return 'Check the base URL and any proxy on the way; if both are right, report the request id to the store.';
    case 'too_large':
      return 'It will be as large again: make the record smaller in the store.';
    case 'aborted':
      return 'The client stopped the request.';
  }
}

function mayHaveOrdered({ kind, endpoint, status }: ServiceErrorInit): boolean {
  if (endpoint !== '/v1/order/create') return false;
  if (kind === 'unavailable' || kind === 'too_large') return true;
  return kind === 'contract' && (status === undefined || status < 300);
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}
