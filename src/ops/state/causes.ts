/** Why values may be wrong, or what needs attention. `npm run generate` writes documents and alert rules from this. */

/** Parties that can end a cause. */
export const OWNERS = ['store', 'operator', 'host', 'network', 'mirror'] as const;
export type Owner = (typeof OWNERS)[number];

export const OWNER_WORDS: Readonly<Record<Owner, string>> = {
  store: 'the store',
  operator: 'you',
  host: 'this machine, or another program on it',
  network: 'the network or a proxy',
  mirror: 'the mirror itself',
};

export const SEVERITIES = ['critical', 'warning'] as const;
/** `critical`: the state is `stale`, and no value is trusted. `warning`: the message says what it means for the values. */
type Severity = (typeof SEVERITIES)[number];

export interface CauseRow {
  readonly severity: Severity;
  readonly owner: Owner;
  /** The fault and its effect on the stock values. `{name}` is a placeholder. */
  readonly message: string;
  readonly remedy: string;
  readonly alertAfter: string | null;
  /** A warning whose alert does not wait for working hours, because values that may be sold are missing. */
  readonly isUrgent?: true;
  /** With it, the state is `catching_up`, unless a critical one makes it `stale`. */
  readonly isCatchingUp?: true;
  /** Runs of reads wait until it ends. */
  readonly holdsReads?: true;
}

/** Most urgent first. */
export const CAUSES = {
  stopped: {
    severity: 'critical',
    owner: 'operator',
    message: 'The mirror is not running, or it hangs. Values are not updated.',
    remedy:
      'Start its unit or container, or run `stock-mirror serve`. If it runs, read its log, then restart it.',
    // The alert StockMirrorDown covers it: a stopped mirror has no metrics.
    alertAfter: null,
  },
  starting: {
    severity: 'critical',
    owner: 'mirror',
    message: 'The mirror is applying its inbox. Until it has finished, values are out of date.',
    remedy: 'Wait some minutes. If it does not finish, run `stock-mirror doctor`.',
    alertAfter: '15m',
  },
  disk_full: {
    severity: 'critical',
    owner: 'host',
    message:
      'The mirror’s disk is full: {fault}. Values are not updated. If the inbox is on the same disk, webhooks are refused with 503.',
    remedy: 'Free space on the disk that holds DATABASE_PATH. No restart is needed.',
    alertAfter: '1m',
    holdsReads: true,
  },
  cannot_commit: {
    severity: 'critical',
    owner: 'host',
    message:
      'The inbox cannot be written: {fault}. Webhooks are refused with 503, and values are not updated.',
    remedy: 'Look for disk errors in the system log. No restart is needed.',
    alertAfter: '10s',
    holdsReads: true,
  },
  no_receiver: {
    severity: 'critical',
    owner: 'host',
    message: 'The receiver is stopped, or cannot write its inbox. Webhooks are not received.',
    remedy: 'Start the receiver (`ROLE=receiver`, or the unit stock-mirror-receiver), or read its log.',
    alertAfter: '10s',
  },
  mirror_locked: {
    severity: 'critical',
    owner: 'host',
    message:
      'Another program holds a lock on the mirror’s file: {fault}. Webhooks are kept in the inbox, and values are not updated.',
    remedy: 'Find the program with `fuser -v` on the file, and end its transaction.',
    alertAfter: '30s',
    holdsReads: true,
  },
  mirror_failed: {
    severity: 'critical',
    owner: 'host',
    message:
      'The mirror’s file cannot be used: {fault}. Webhooks are kept in the inbox, and values are not updated.',
    remedy:
      'Make the file and its folder writable for the mirror’s user. If the file belongs to another program, move it away or change DATABASE_PATH. The mirror retries, and reads everything again if the file is lost or damaged.',
    alertAfter: '30s',
    holdsReads: true,
  },
  apply_behind: {
    severity: 'critical',
    owner: 'host',
    message:
      'Webhooks arrive faster than this machine applies them. They are kept in the inbox, and values are out of date.',
    remedy: 'Give the mirror a faster disk or more CPU time.',
    alertAfter: '1m',
  },
  stream_silent: {
    severity: 'critical',
    owner: 'network',
    message:
      'No receiver has sent a heartbeat through the stream for 7 s{how}. Webhooks that other hosts receive do not arrive here, and those of this host do not arrive there.',
    remedy:
      'Check that a receiver runs, and that this host reaches the servers of STREAM_URL; `stock-mirror doctor` names the fault.',
    alertAfter: '30s',
  },
  stream_backlog: {
    severity: 'critical',
    owner: 'host',
    message:
      'For more than 7 s, webhooks have waited to enter or leave the stream, or a receiver was not heard. Webhooks are kept, but values of some mirrors may be out of date.',
    remedy:
      'Look for `stream_silent` and for this cause on each receiver. If the stream works, give the machine that is behind a faster disk; `stock-mirror doctor` checks the limits of the servers.',
    alertAfter: '1m',
  },
  stream_refused: {
    severity: 'warning',
    owner: 'host',
    message:
      'The NATS servers refuse a delivery because of its size{delivery}. It is stored here; other mirrors read its variants instead.',
    remedy:
      'Set `max_payload: 2MB` in the configuration of every server, and reload it; `stock-mirror doctor` checks it.',
    alertAfter: '0s',
  },
  wrong_store: {
    severity: 'critical',
    owner: 'operator',
    message: 'The credentials belong to another store than the mirrored one. Nothing is read.',
    remedy:
      'Correct SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET, or set DATABASE_PATH to a new file for the other store. Then restart the mirror.',
    alertAfter: '0s',
    holdsReads: true,
  },
  credentials: {
    severity: 'critical',
    owner: 'operator',
    message:
      'The store{at} refuses the credentials. Webhooks are applied, but nothing is read, so lost webhooks are not repaired.',
    remedy:
      'Correct SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET, and restart the mirror. If the store was at fault, `stock-mirror resync` tries them once more.',
    alertAfter: '0s',
    holdsReads: true,
  },
  webhooks_missing: {
    severity: 'critical',
    owner: 'operator',
    message:
      'Webhooks are missing. After the last one that arrived, {change} in the store, and no webhook reported it{refused}. Other values may be wrong too, so none is trusted.',
    remedy: '{correct} The next webhook that arrives ends this cause, and every product is read again.',
    alertAfter: '0s',
  },
  refused_products: {
    severity: 'critical',
    owner: 'store',
    message:
      'The store refuses or fails to return {products}, more than isolated faults explain. Their values may be out of date.',
    remedy: 'Ask the store what changed for this app, then run `stock-mirror resync`.',
    alertAfter: '5m',
  },
  held_removals: {
    severity: 'warning',
    owner: 'operator',
    message:
      'The mass-removal guard holds back removals: the store no longer shows {products}, or some of their variants or warehouses. The mirror keeps these rows until you decide; only they are not trusted.',
    remedy:
      'Check in the store whether they were deleted on purpose. If they were, run `stock-mirror resync --allow-removals --by NAME --reason TEXT`. If not, correct the store (its filter, permissions or data) and run `stock-mirror resync`.',
    alertAfter: '5m',
    isUrgent: true,
  },
  reads_overdue: {
    severity: 'warning',
    owner: 'operator',
    message:
      'A read request has waited for more than 15 min. The values that wait for a read are not trusted.',
    remedy:
      'If another cause holds reads back, remove it first. Otherwise raise SERVICE_MAX_RPS as far as the store allows, and restart the mirror. If many webhooks are lost, find the reason.',
    alertAfter: '5m',
    isUrgent: true,
  },
  store_unreachable: {
    severity: 'warning',
    owner: 'network',
    message: 'The store{at} cannot be reached{how}. Webhooks are applied, but suspect values stay suspect.',
    remedy:
      'Check SERVICE_BASE_URL and this machine’s network, DNS and certificates. The mirror retries at least every 30 s.',
    alertAfter: '10m',
    holdsReads: true,
  },
  store_down: {
    severity: 'warning',
    owner: 'store',
    message: 'The store{at} cannot be read{how}. Webhooks are applied, but suspect values stay suspect.',
    remedy:
      'Wait: the mirror retries at least every 30 s. If other machines reach the store, check this machine’s network.',
    alertAfter: '10m',
    holdsReads: true,
  },
  store_slow: {
    severity: 'warning',
    owner: 'store',
    message:
      'The store{at} does not answer in time{how}. Webhooks are applied, but suspect values stay suspect.',
    remedy:
      'Wait: the mirror retries at least every 30 s. If this happens often, lower SERVICE_MAX_CONCURRENCY.',
    alertAfter: '10m',
    holdsReads: true,
  },
  not_the_store: {
    severity: 'warning',
    owner: 'operator',
    message:
      'The server{at} does not answer like the store’s API, or refuses tokens that it has just issued. Webhooks are applied, but suspect values stay suspect.',
    remedy:
      'Check SERVICE_BASE_URL, whether the credentials belong to it, and any proxy or sign-in page between this machine and the store.',
    alertAfter: '10m',
    holdsReads: true,
  },
  rate_limited: {
    severity: 'warning',
    owner: 'store',
    message: 'The store{at} has asked for a pause. Webhooks are applied, and reads continue after the pause.',
    remedy: 'Do nothing. If this happens often, lower SERVICE_MAX_RPS.',
    alertAfter: '30m',
    holdsReads: true,
  },
  parked_reads: {
    severity: 'warning',
    owner: 'store',
    message:
      '{products} cannot be read: the store refuses the reads, its answers are too large, or the reads keep failing. Their suspect rows stay suspect.',
    remedy:
      'See the latest error in `stock-mirror status`, then try `stock-mirror resync`. If the store keeps refusing a product, report it to the store.',
    alertAfter: '30m',
  },
  list_gap: {
    severity: 'warning',
    owner: 'store',
    message:
      'The store cannot list all of its products: reading its list by id fails {gap}. New products there are unknown until a webhook names them, and no deleted product is removed.',
    remedy:
      'Report it to the store: `POST /v1/product/list` with `sort_by` id, that offset and limit 1 fails.',
    alertAfter: '30m',
  },
  unchecked: {
    severity: 'warning',
    owner: 'operator',
    message:
      'Not every product is read within VERIFY_WITHIN_HOURS{because}. Values that nothing has confirmed for a tenth longer than that are not trusted.',
    remedy:
      'If another cause holds reads back, remove it first. Otherwise raise SERVICE_MAX_RPS if the store allows it, or raise VERIFY_WITHIN_HOURS to the time that is needed; then restart the mirror.',
    alertAfter: '5m',
    isUrgent: true,
  },
  requests_refused: {
    severity: 'warning',
    owner: 'operator',
    message:
      'The public port refused {requests}. If they were webhooks of the store, their changes are missing{found}.',
    remedy: 'If strangers sent them, do nothing. Otherwise: {correct}',
    alertAfter: '1h',
  },
  clock_wrong: {
    severity: 'warning',
    owner: 'host',
    message:
      'This machine’s clock is {difference} the store’s. Quantities stay right, but times and ages are wrong by as much.',
    remedy:
      'Synchronise this machine’s clock with NTP. If it is right, report the store’s clock to the store.',
    alertAfter: '15m',
  },
  unproven: {
    severity: 'warning',
    owner: 'operator',
    message:
      'No webhook of the store has been accepted since the first start, or since SERVICE_WEBHOOK_SECRET was changed. Until one is, no value is trusted.',
    remedy:
      'Change a quantity in the store’s app, and watch it arrive. If it does not arrive within a minute, check the webhook URL, the secret and the event in the store’s app settings, then DNS and the proxy.',
    alertAfter: '1h',
    isCatchingUp: true,
  },
  first_read: {
    severity: 'warning',
    owner: 'mirror',
    message: 'The first read of the whole catalogue has not finished: {waiting}.',
    remedy: 'Wait. If the number of pending reads does not fall, look for another cause.',
    alertAfter: '6h',
    isCatchingUp: true,
  },
  downtime: {
    severity: 'warning',
    owner: 'mirror',
    message:
      'Products are being read again, because webhooks may have been missed or a new epoch has begun: {waiting}. Suspect rows may be out of date; the others are right.',
    remedy: 'Wait. If the number of pending reads does not fall, look for another cause.',
    alertAfter: '1h',
    isCatchingUp: true,
  },
} as const satisfies Readonly<Record<string, CauseRow>>;

export type CauseCode = keyof typeof CAUSES;
export const CAUSE_CODES = Object.keys(CAUSES) as CauseCode[];

type Trait = 'isUrgent' | 'isCatchingUp' | 'holdsReads';

export function hasTrait(code: CauseCode, trait: Trait): boolean {
  const row: CauseRow = CAUSES[code];
  return row[trait] === true;
}

export interface Cause {
  readonly code: CauseCode;
  readonly severity: Severity;
  /** Epoch ms; null if unknown. */
  readonly since: number | null;
  readonly owner: Owner;
  readonly message: string;
  readonly remedy: string;
}

/** As the mirror's file has it: a trigger and a start know no more than the code. */
export type StoredCause = Pick<Cause, 'code'> & Partial<Cause>;

/** What a placeholder says in documents and alerts, and for a cause of which only the code was stored. */
const IN_GENERAL: Readonly<Record<string, string>> = {
  at: '',
  how: '',
  fault: 'the status names the file and the error',
  products: 'products',
  waiting: 'products wait to be read',
  change: 'a quantity has changed',
  refused: ', while requests were refused; the status says why',
  requests: 'requests',
  found: '; reads have found none so far',
  correct:
    'Check the webhook URL, the secret and the event in the store’s app settings, then DNS and the proxy.',
  because: '',
  difference: '10 s or more ahead of or behind',
  delivery: '',
  gap: 'at some rows',
};

export function causeOf(
  code: CauseCode,
  since: number | null,
  values: Readonly<Record<string, string>> = {},
): Cause {
  const { severity, owner, message, remedy } = CAUSES[code];
  const fill = (text: string): string =>
    text.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? inGeneral(name));
  return { code, severity, since, owner, message: capital(fill(message)), remedy: fill(remedy) };
}

function inGeneral(name: string): string {
  const words = IN_GENERAL[name];
  if (words === undefined) throw new Error(`there are no general words for {${name}}`);
  return words;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
