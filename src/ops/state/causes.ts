/**
 * All causes: why the mirror's values may be wrong, or what an operator should look at. A cause has the same code in SQL,
 * API, page, command line, metrics, alert rules and log. `npm run generate` writes docs/troubleshooting.md and
 * deploy/prometheus/alerts.yml from this table.
 */

export const OWNERS = ['store', 'operator', 'host', 'network'] as const;
/** Who can end the cause; `host` is this machine, or another program on it. */
export type Owner = (typeof OWNERS)[number];

export const OWNER_WORDS: Readonly<Record<Owner, string>> = {
  store: 'the store',
  operator: 'the settings or the operation of the mirror',
  host: 'the mirror’s machine, or another program on it',
  network: 'the network, or a proxy',
};

export const SEVERITIES = ['critical', 'warning'] as const;
/** `critical`: values may be wrong or stand still. `warning`: values that are not suspect stay right. */
export type Severity = (typeof SEVERITIES)[number];

export interface CauseRow {
  readonly severity: Severity;
  readonly owner: Owner;
  /** What is wrong, and what it means for the stock values. `{name}` stands for a value of the case. */
  readonly message: string;
  readonly remedy: string;
  /** Age at which Prometheus raises an alert; null: never. */
  readonly alertAfter: string | null;
}

/** Most urgent first. */
export const CAUSES = {
  stopped: {
    severity: 'critical',
    owner: 'operator',
    message: 'The mirror is not running. Webhooks are not received, and values stand still.',
    remedy: 'Start the mirror: `stock-mirror serve`, or its unit or container.',
    // Its metrics are gone: the alert StockMirrorDown.
    alertAfter: null,
  },
  no_heartbeat: {
    severity: 'critical',
    owner: 'host',
    message:
      'The mirror’s process does not update its file: it hangs, or it is a `resync` without the mirror. Values stand still.',
    remedy: 'Read the log output of that process. If it hangs, restart it.',
    alertAfter: null,
  },
  disk_full: {
    severity: 'critical',
    owner: 'host',
    message:
      'The disk of the mirror is full: {fault}. Values stand still. If the inbox is on that disk, webhooks are refused with 503; their products are read from the store afterwards.',
    remedy: 'Free disk space in the folder of DATABASE_PATH. Nothing needs to be restarted.',
    alertAfter: '1m',
  },
  cannot_commit: {
    severity: 'critical',
    owner: 'host',
    message:
      'The inbox cannot be written: {fault}. Webhooks are refused with 503, and values stand still; the products of refused webhooks are read from the store afterwards.',
    remedy: 'Look for disk errors in the system’s log. Nothing needs to be restarted.',
    alertAfter: '10s',
  },
  mirror_locked: {
    severity: 'critical',
    owner: 'host',
    message:
      'Another program holds a lock on the mirror’s file: {fault}. Webhooks are kept in the inbox, and values stand still.',
    remedy:
      'End the transaction of that program; `fuser -v` on the file finds it. The mirror then catches up by itself.',
    alertAfter: '30s',
  },
  mirror_failed: {
    severity: 'critical',
    owner: 'host',
    message:
      'The mirror’s file cannot be used: {fault}. Webhooks are kept in the inbox, and values stand still.',
    remedy:
      'Make the file and its folder writable for the mirror’s user. If it is another program’s file, move it away or change DATABASE_PATH. The mirror tries again by itself, and reads everything if the file is lost or damaged.',
    alertAfter: '30s',
  },
  apply_behind: {
    severity: 'critical',
    owner: 'host',
    message:
      'More deliveries arrive than this machine applies. They are kept in the inbox, and values are old.',
    remedy: 'Give the mirror a faster disk or more processor time. It catches up by itself.',
    alertAfter: '1m',
  },
  wrong_store: {
    severity: 'critical',
    owner: 'operator',
    message:
      'The credentials belong to another store than the mirror. Nothing of the other store is applied, and nothing is read.',
    remedy:
      'Correct SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET, or set DATABASE_PATH to a new file for the other store, and restart the mirror.',
    alertAfter: '0s',
  },
  credentials: {
    severity: 'critical',
    owner: 'operator',
    message:
      'The store{at} refuses the credentials. Webhooks are applied, but nothing is read: lost webhooks are not noticed.',
    remedy:
      'Correct SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET and restart the mirror. If the store was at fault, `stock-mirror resync` tries them once more.',
    alertAfter: '0s',
  },
  silence: {
    severity: 'critical',
    owner: 'network',
    message:
      'No webhook has arrived from the store for far longer than usual. Only the schedules find changes.',
    remedy:
      'Check the webhook URL and the event in the store’s app settings, then DNS and the proxy; `stock-mirror send --url …` takes the same way as the store. Then run `stock-mirror resync`.',
    alertAfter: '0s',
  },
  refused_products: {
    severity: 'critical',
    owner: 'store',
    message:
      'The store refuses or fails to show {products}, more than single faults explain. Their values may be out of date.',
    remedy: 'Ask the store what changed for this app, then run `stock-mirror resync`.',
    alertAfter: '5m',
  },
  held_removals: {
    severity: 'critical',
    owner: 'operator',
    message:
      'The store no longer shows {products}, or variants or warehouses of them: too many at once. The mirror keeps them, suspect, until you decide.',
    remedy:
      'Check in the store whether they were meant to be deleted: its filter, permissions or data may be wrong. If they were, run `stock-mirror resync --allow-removals`; if not, correct the store and run `stock-mirror resync`.',
    alertAfter: '5m',
  },
  reads_overdue: {
    severity: 'critical',
    owner: 'operator',
    message:
      'A read request has waited for longer than 15 min: reads are too slow, or there are more than SERVICE_MAX_RPS allows. Suspect values may be out of date.',
    remedy:
      'If another cause keeps the store from being read, remove it first. Else raise SERVICE_MAX_RPS as far as the store allows and restart the mirror; if many webhooks are lost, find out why.',
    alertAfter: '5m',
  },
  bad_signatures: {
    severity: 'warning',
    owner: 'operator',
    message:
      '{wrong} webhooks of the last hour were signed with another secret and refused; {right} were signed with the configured one. If the secret was replaced in the store, values miss changes; if not, another program sends forged webhooks, which change nothing.',
    remedy:
      'If it was replaced, set SERVICE_WEBHOOK_SECRET to the new secret and SERVICE_WEBHOOK_SECRET_PREVIOUS to the old one, restart the mirror, then run `stock-mirror resync`.',
    alertAfter: '0s',
  },
  store_unreachable: {
    severity: 'warning',
    owner: 'network',
    message:
      'The store{at} cannot be reached{how}. Webhooks are applied; suspect values stay suspect until the store can be read.',
    remedy:
      'Check SERVICE_BASE_URL and this machine’s network, DNS and certificates. The mirror tries again by itself, at least every 30 s.',
    alertAfter: '10m',
  },
  store_down: {
    severity: 'warning',
    owner: 'store',
    message:
      'The store{at} cannot be read{how}. Webhooks are applied; suspect values stay suspect until the store can be read.',
    remedy:
      'Wait: the mirror tries again by itself, at least every 30 s. If other machines reach the store, check the network of this one.',
    alertAfter: '10m',
  },
  store_slow: {
    severity: 'warning',
    owner: 'store',
    message:
      'The store{at} does not answer in time{how}. Webhooks are applied; suspect values stay suspect until the store can be read.',
    remedy:
      'Wait: the mirror tries again by itself, at least every 30 s. If it happens often, lower SERVICE_MAX_CONCURRENCY.',
    alertAfter: '10m',
  },
  not_the_store: {
    severity: 'warning',
    owner: 'operator',
    message:
      'The answers{at} are not those of the store’s API, or it refuses the tokens that it has just issued. Webhooks are applied; suspect values stay suspect until the store can be read.',
    remedy:
      'Check SERVICE_BASE_URL, that the credentials belong to it, and any proxy or sign-in page between this machine and the store.',
    alertAfter: '10m',
  },
  rate_limited: {
    severity: 'warning',
    owner: 'store',
    message: 'The store{at} has asked for a pause. Webhooks are applied, and reads continue after the pause.',
    remedy: 'None is needed. If it happens often, lower SERVICE_MAX_RPS.',
    alertAfter: '30m',
  },
  parked_reads: {
    severity: 'warning',
    owner: 'store',
    message:
      '{products} cannot be read, because the store refuses them or their reads keep failing. Their rows stay as suspect as they were.',
    remedy:
      'See the latest error in `stock-mirror status`; `stock-mirror resync` tries again. If the store keeps refusing a product, report it to the store.',
    alertAfter: '30m',
  },
  turned_away: {
    severity: 'warning',
    owner: 'host',
    message:
      'Webhook requests were turned away: more than 4,096 connections (or a third of the limit of open files), or more than 64 MB of bodies in transfer. Deliveries may be lost; the products with the oldest evidence are read, at most every 15 minutes.',
    remedy:
      'Limit the connections and request rate of each client at the proxy (docs/deploying.md#proxies), or raise the limit of open files.',
    alertAfter: '0s',
  },
  wrong_address: {
    severity: 'warning',
    owner: 'operator',
    message:
      'A signed request came as {seen} instead of POST /webhooks. If the store sent it, its webhooks are lost, and only the schedules find changes.',
    remedy:
      'Correct the webhook URL in the store, or the path that the proxy passes on: it ends with /webhooks, without a slash. Then run `stock-mirror resync`.',
    alertAfter: '0s',
  },
  wrong_protocol: {
    severity: 'warning',
    owner: 'operator',
    message:
      'A connection to the public port did not speak plain HTTP/1.1: {seen}. If the store sent it, its webhooks are lost, and only the schedules find changes.',
    remedy:
      'Let a proxy end TLS and speak HTTP/1.1 to the mirror, without the PROXY protocol (docs/deploying.md#proxies). Then run `stock-mirror resync`.',
    alertAfter: '0s',
  },
  clock_wrong: {
    severity: 'warning',
    owner: 'host',
    message:
      'This machine’s clock is {difference} the store’s. Quantities stay right; times and ages are off by as much, and more is read than needed.',
    remedy:
      'Synchronise the clock of this machine with NTP. If it is right, report the store’s to the store.',
    alertAfter: '15m',
  },
  starting: {
    severity: 'warning',
    owner: 'host',
    message: 'The mirror has just started and applies what its inbox holds. Values stand still until then.',
    remedy: 'None is needed for some minutes. If it does not end, run `stock-mirror doctor`.',
    alertAfter: '15m',
  },
  first_read: {
    severity: 'warning',
    owner: 'store',
    message: 'The first read of the whole catalogue is not finished: {waiting}.',
    remedy:
      'None is needed while the number of pending reads falls. If it does not fall, look for another cause.',
    alertAfter: '6h',
  },
  downtime: {
    severity: 'warning',
    owner: 'store',
    message:
      'Products are read again after downtime or with a new epoch: {waiting}. Suspect rows have old values; the others are right.',
    remedy:
      'None is needed while the number of pending reads falls. If it does not fall, look for another cause.',
    alertAfter: '1h',
  },
} as const satisfies Readonly<Record<string, CauseRow>>;

export type CauseCode = keyof typeof CAUSES;
export const CAUSE_CODES = Object.keys(CAUSES) as CauseCode[];

/** These make the state `catching_up`. */
export const CATCHING_UP: ReadonlySet<CauseCode> = new Set(['starting', 'first_read', 'downtime']);

/** Nothing is read from the store during these. */
export const HOLD_READS: ReadonlySet<CauseCode> = new Set([
  'disk_full',
  'cannot_commit',
  'mirror_locked',
  'mirror_failed',
  'wrong_store',
  'credentials',
  'store_unreachable',
  'store_down',
  'store_slow',
  'not_the_store',
  'rate_limited',
]);

export interface Cause {
  readonly code: CauseCode;
  readonly severity: Severity;
  /** Epoch ms; null: not known. */
  readonly since: number | null;
  readonly owner: Owner;
  readonly message: string;
  readonly remedy: string;
}

/** What the placeholders of the messages stand for, in documents and alerts. */
const IN_GENERAL: Readonly<Record<string, string>> = {
  at: '',
  how: '',
  fault: 'the status names file and fault',
  products: 'products',
  waiting: 'products wait to be read',
  wrong: 'Some',
  right: 'others',
  seen: 'another request or protocol',
  difference: '10 s or more ahead of or behind',
};

/** @param values of the placeholders in the message. */
export function causeOf(
  code: CauseCode,
  since: number | null,
  values: Readonly<Record<string, string>> = IN_GENERAL,
): Cause {
  const { severity, owner, message, remedy } = CAUSES[code];
  const filled = message.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
  return { code, severity, since, owner, message: capital(filled), remedy };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
