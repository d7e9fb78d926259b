import type { Blocked } from '../../store-api/blocked.ts';
import { causeOf, type Cause, type CauseCode } from './causes.ts';

/** Reached, but no answer in time. */
const SLOW = /^(?:UND_ERR_(?:HEADERS|BODY)_TIMEOUT|ERR_DEADLINE)$/;
/** Never reached. */
const ON_THE_WAY =
  /^(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EHOSTDOWN|ETIMEDOUT|UND_ERR_(?:CONNECT_TIMEOUT|PRX_|ABORTED)|EPROTO|CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

export function storeCause(blocked: Blocked): Cause {
  const { sinceMs, at, failure, message } = blocked;
  const status = failure?.status ?? null;
  const reason = failure === undefined ? message : status === null ? failure.code : `it answers ${status}`;
  return causeOf(codeOf(blocked), sinceMs, {
    at: at === undefined ? '' : ` at ${at}`,
    how: reason === null ? '' : ` (${reason})`,
  });
}

function codeOf({ kind, failure }: Blocked): CauseCode {
  switch (kind) {
    case 'credentials':
    case 'wrong_store':
    case 'rate_limited':
      return kind;
    case 'breaker':
      return failedCode(failure);
  }
}

/** The breaker is open: the last requests failed. */
function failedCode(failure: Blocked['failure']): CauseCode {
  if (failure?.kind === 'contract' || failure?.kind === 'unauthorized') return 'not_the_store';
  const code = failure?.code ?? null;
  if (failure?.status === null && code !== null) {
    if (SLOW.test(code)) return 'store_slow';
    if (ON_THE_WAY.test(code)) return 'store_unreachable';
  }
  return 'store_down';
}
