import { causeOf, type Cause, type CauseCode } from './causes.ts';

export interface Blocked {
  readonly kind: string;
  readonly message: string;
  /** The time of the next request; null if an operator must act first. */
  readonly untilMs: number | null;
  readonly sinceMs?: number;
  readonly at?: string;
  /** The last request: the status of its answer, or the network's error code if there was none. */
  readonly failure?: {
    readonly kind: string;
    readonly status: number | null;
    readonly code: string | null;
  };
}

/** Reached, but no answer in time. */
const SLOW = /^(?:UND_ERR_(?:HEADERS|BODY)_TIMEOUT|ERR_DEADLINE)$/;
/** Never reached. */
const ON_THE_WAY =
  /^(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EHOSTDOWN|ETIMEDOUT|UND_ERR_(?:CONNECT_TIMEOUT|PRX_|ABORTED)|EPROTO|CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

export function storeCause(blocked: Blocked): Cause {
  const { sinceMs = null, at, failure, message } = blocked;
  const status = failure?.status ?? null;
  const reason = failure === undefined ? message : status === null ? failure.code : `it answers ${status}`;
  return causeOf(codeOf(blocked), sinceMs, {
    at: at === undefined ? '' : ` at ${at}`,
    how: reason === null ? '' : ` (${reason})`,
  });
}

function codeOf({ kind, failure }: Blocked): CauseCode {
  if (kind === 'credentials' || kind === 'wrong_store' || kind === 'rate_limited') return kind;
  if (failure?.kind === 'contract' || failure?.kind === 'unauthorized') return 'not_the_store';
  const code = failure?.code ?? null;
  if (failure?.status === null && code !== null) {
    if (SLOW.test(code)) return 'store_slow';
    if (ON_THE_WAY.test(code)) return 'store_unreachable';
  }
  return 'store_down';
}
