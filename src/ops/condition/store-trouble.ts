/** Why the store cannot be asked, in words. */
import type { Cause } from './cause.ts';

/** Why no request is sent to the store at present. */
export interface Blocked {
  readonly kind: string;
  readonly message: string;
  /** When the next request is sent; null: when a person acts. */
  readonly untilMs: number | null;
  readonly sinceMs?: number;
  /** Host and port of the store. */
  readonly at?: string;
  /** What the last request met: the status of an answer, or the network's code when there was none. */
  readonly failure?: {
    readonly kind: string;
    readonly status: number | null;
    readonly code: string | null;
  };
}

/** The store was never reached. Anything else was refused by it, or came too late from it. */
const ON_THE_WAY =
  /^(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EHOSTDOWN|ETIMEDOUT|UND_ERR_(?:CONNECT_TIMEOUT|PRX_|ABORTED)|EPROTO|CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

const SUSPECT_UNTIL_READ =
  'webhooks are still applied, and suspect figures stay suspect until the store can be read again';

export function storeTrouble(blocked: Blocked): Cause {
  const { kind, untilMs, sinceMs } = blocked;
  const times = { since: sinceMs ?? null, until: untilMs };
  const at = blocked.at === undefined ? '' : ` at ${blocked.at}`;
  switch (kind) {
    case 'credentials':
      return {
        kind: 'credentials',
        owner: 'operator',
        cause: `The store${at} refuses the credentials`,
        figures:
          'webhooks are still applied, but nothing is read: what is lost on the way stays lost for now',
        remedy:
          'correct SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET and restart the mirror; if the store was at fault, `stock-mirror resync` tries them once more',
        ...times,
        until: null,
      };
    case 'wrong_store':
      return {
        kind: 'wrong_store',
        owner: 'operator',
        cause: 'The credentials belong to another store than the one mirrored',
        figures:
          'the figures are kept as they were: nothing of the other store is applied, and nothing is read',
        remedy:
          'correct SERVICE_CLIENT_ID, or set DATABASE_PATH to a new file for that store, and restart the mirror',
        ...times,
        until: null,
      };
    case 'rate_limited':
      return {
        kind: 'rate_limited',
        owner: 'store',
        cause: `The store${at} has asked for a pause`,
        figures: 'webhooks are applied, and reads go on when the pause is over',
        remedy: 'nothing; if it happens often, lower SERVICE_MAX_RPS',
        ...times,
      };
    default:
      return { ...unreadable(blocked, at), ...times };
  }
}

function unreadable({ failure, message }: Blocked, at: string): Omit<Cause, 'since' | 'until'> {
  if (failure?.kind === 'contract') {
    return {
      kind: 'not_the_store',
      owner: 'network',
      cause: `What answers${at} is not the store’s API`,
      figures: SUSPECT_UNTIL_READ,
      remedy: 'check SERVICE_BASE_URL, and any proxy or sign-in page between this machine and the store',
    };
  }
  if (failure?.kind === 'unauthorized') {
    return {
      kind: 'not_the_store',
      owner: 'operator',
      cause: `The store${at} refuses the tokens that were just issued`,
      figures: SUSPECT_UNTIL_READ,
      remedy: 'check that SERVICE_BASE_URL and the credentials belong together',
    };
  }
  const code = failure?.code ?? null;
  const status = failure?.status ?? null;
  const how = status === null ? (code === null ? '' : ` (${code})`) : ` (it answers ${status})`;
  const isOnTheWay = status === null && code !== null && ON_THE_WAY.test(code);
  const name = failure === undefined ? `${at}: ${message}` : `${at}${how}`;
  return {
    kind: 'store_down',
    owner: isOnTheWay ? 'network' : 'store',
    cause: `The store${name} cannot be read`,
    figures: SUSPECT_UNTIL_READ,
    remedy: isOnTheWay
      ? 'check SERVICE_BASE_URL and this machine’s network, DNS and certificates; the mirror asks again by itself'
      : 'nothing here: the mirror asks again by itself; if other machines reach the store, check the network',
  };
}
