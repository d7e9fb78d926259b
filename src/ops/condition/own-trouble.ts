/** What is wrong on this machine, in words. Uses no clock and no database. */
import { spell } from './spell.ts';
import type { Cause } from './cause.ts';

interface Failure {
  readonly kind: string;
  readonly message: string;
}

/** What a running mirror knows of itself and its machine. */
export interface OwnTrouble {
  readonly commits: {
    /** When a transaction of the event log last succeeded. One is tried every second. */
    readonly lastGoodAtMs: number;
    /** Why the last one failed, if it did. */
    readonly lastError: Failure | null;
  };
  /** Why nothing is applied at present, and since when it is so. */
  readonly stuck: (Failure & { readonly sinceMs: number }) | null;
  /** Since when an entry of the event log waits to be applied, at least; null: none does. */
  readonly behindSinceMs: number | null;
  /** How far this machine's clock is ahead of the store's, at least; null: not known, or not at all. */
  readonly clockAheadMs: number | null;
  /** Since when more products wait to be read, minute after minute; null: they do not. */
  readonly growingSinceMs: number | null;
  /** When a webhook request was last turned away for lack of room; null: never. */
  readonly turnedAwayAtMs: number | null;
  /** The latest request that seems to be the store's and missed `POST /webhooks`; null: none since the last delivery. */
  readonly misdirected: {
    readonly reason: 'wrong_address' | 'wrong_protocol';
    /** The method and path, or the protocol. */
    readonly seen: string;
    readonly atMs: number;
  } | null;
}

/** A heartbeat every second: two that are missing are no accident of timing. */
const NO_COMMIT_MS = 2_500;
/** A slow disk may take this long for one sync without having failed. */
const HANGS_MS = 5_000;
/** A burst may leave more to apply than is applied in a moment. */
export const BEHIND_MS = 30_000;
/** Less than this is mostly the way that an answer takes. */
const CLOCK_OFF_MS = 10_000;

/** For as long as a read of the most recently active products may be due to it. */
const TURNED_AWAY_MS = 15 * 60_000;

export function ownTrouble(own: OwnTrouble, maxRps: number | null, nowMs: number): Cause[] {
  const causes = [
    commitTrouble(own, nowMs),
    applyTrouble(own, nowMs),
    clockTrouble(own),
    growingBacklog(own, maxRps),
    turnedAway(own, nowMs),
    misdirected(own),
  ];
  return causes.filter((cause) => cause !== null);
}

export function commitTrouble({ commits }: Pick<OwnTrouble, 'commits'>, nowMs: number): Cause | null {
  const { lastGoodAtMs, lastError } = commits;
  if (nowMs - lastGoodAtMs < (lastError === null ? HANGS_MS : NO_COMMIT_MS)) return null;
  const shared = {
    owner: 'host',
    figures:
      'webhooks are refused with 503, and the figures stand still; what was refused is read from the store afterwards',
    since: lastGoodAtMs,
    until: null,
  } as const;
  if (lastError?.kind === 'no_room') {
    return {
      ...shared,
      kind: 'no_room',
      cause: 'The disk of the mirror is full',
      remedy: 'free disk space in the folder of DATABASE_PATH; nothing needs to be restarted',
    };
  }
  return {
    ...shared,
    kind: 'cannot_store',
    cause: `The event log cannot be written: ${lastError?.message ?? 'the disk does not answer'}`,
    remedy: 'see what the system’s log says of the disk; nothing needs to be restarted',
  };
}

export function applyTrouble({ stuck, behindSinceMs }: OwnTrouble, nowMs: number): Cause | null {
  if (stuck === null) return behindTrouble(behindSinceMs, nowMs);
  const shared = {
    owner: 'host',
    figures: 'webhooks are answered and kept in the event log, and the figures stand still',
    since: stuck.sinceMs,
    until: null,
  } as const;
  if (stuck.kind === 'busy') {
    return {
      ...shared,
      kind: 'tables_locked',
      cause: 'Another program holds the write lock of the mirror’s file',
      remedy:
        'end the transaction of that program, for which `stock-mirror doctor` looks; the mirror then catches up by itself',
    };
  }
  if (stuck.kind === 'no_room') {
    return {
      ...shared,
      kind: 'no_room',
      cause: 'The disk of the mirror is full',
      remedy: 'free disk space in the folder of DATABASE_PATH; nothing needs to be restarted',
    };
  }
  return {
    ...shared,
    kind: 'tables_stuck',
    cause: `The mirror’s tables cannot be written: ${stuck.message}`,
    remedy: 'run `stock-mirror doctor`; the mirror tries again by itself',
  };
}

function behindTrouble(sinceMs: number | null, nowMs: number): Cause | null {
  if (sinceMs === null || nowMs - sinceMs < BEHIND_MS) return null;
  return {
    kind: 'tables_stuck',
    owner: 'host',
    cause: 'There is more to apply than this machine keeps up with',
    figures: 'webhooks are answered and kept in the event log, and the figures are those of a while ago',
    remedy: 'give the mirror a faster disk or more of the processor; it catches up by itself',
    since: sinceMs,
    until: null,
  };
}

function clockTrouble({ clockAheadMs }: OwnTrouble): Cause | null {
  if (clockAheadMs === null || Math.abs(clockAheadMs) < CLOCK_OFF_MS) return null;
  const side = clockAheadMs > 0 ? 'ahead of' : 'behind';
  return {
    kind: 'clock_wrong',
    owner: 'host',
    cause: `This machine’s clock is ${spell(Math.abs(clockAheadMs))} ${side} the store’s`,
    figures: 'the figures stay right, but times and ages are off by as much, and more is read than is needed',
    remedy: 'synchronise the clock of this machine with NTP; if it is right, report the store’s to the store',
    since: null,
    until: null,
  };
}

function growingBacklog({ growingSinceMs }: OwnTrouble, maxRps: number | null): Cause | null {
  if (growingSinceMs === null) return null;
  return {
    kind: 'growing_doubt',
    owner: 'operator',
    cause: 'Re-read requests come faster than reads settle them',
    figures: 'ever more figures are suspect until their products are read',
    remedy: raiseRate(maxRps),
    since: growingSinceMs,
    until: null,
  };
}

function turnedAway({ turnedAwayAtMs }: OwnTrouble, nowMs: number): Cause | null {
  if (turnedAwayAtMs === null || nowMs - turnedAwayAtMs >= TURNED_AWAY_MS) return null;
  return {
    kind: 'turned_away',
    owner: 'host',
    cause: 'Webhook requests were turned away: too many connections, or too many bytes in transfer',
    figures: 'deliveries may be lost; the most recently active products are read, at most every 15 minutes',
    remedy:
      'limit the connections and request rate of each client at the proxy, as docs/deploying.md shows, or raise the limit of open files',
    since: turnedAwayAtMs,
    until: null,
  };
}

function misdirected({ misdirected: latest }: OwnTrouble): Cause | null {
  if (latest === null) return null;
  const { reason, seen, atMs } = latest;
  const isHttp = reason === 'wrong_address';
  return {
    kind: 'misdirected',
    owner: 'operator',
    cause: isHttp
      ? `A signed request came as ${seen} instead of POST /webhooks`
      : `The public port was spoken to in ${seen} instead of plain HTTP/1.1`,
    figures: 'if the store sent it, its webhooks are lost; only the schedules find what they said',
    remedy: isHttp
      ? 'correct the webhook URL in the store, or the path that the proxy passes on: it ends with /webhooks, without a slash'
      : 'let a proxy end TLS and speak HTTP/1.1 to the mirror, without the PROXY protocol, as docs/deploying.md shows',
    since: atMs,
    until: null,
  };
}

export function raiseRate(maxRps: number | null): string {
  const now = maxRps === null ? '' : `, now ${maxRps}`;
  return `raise SERVICE_MAX_RPS${now}, as far as the store allows it, and restart the mirror; if many webhooks are lost, see why`;
}

export function stoppedCause(lastAliveAtMs: number | null): Cause {
  return {
    kind: 'stopped',
    owner: 'operator',
    cause: 'The mirror is not running',
    figures: 'webhooks are not received, and the figures are those of the last moment it ran',
    remedy: 'start the mirror: `stock-mirror serve`, or its unit or container',
    since: lastAliveAtMs,
    until: null,
  };
}

/** A process holds the file, but does not keep it up. */
export function notKeptUpCause(lastAliveAtMs: number | null): Cause {
  return {
    kind: 'not_kept_up',
    owner: 'host',
    cause: 'The mirror’s process does not keep its file up: it hangs, or it is a `resync` without the mirror',
    figures: 'the figures are those of the last moment it did',
    remedy: 'see the log output of that process; if it hangs, restart it',
    since: lastAliveAtMs,
    until: null,
  };
}
