/**
 * Decides when deliveries to this host's port may have been missed (docs/architecture.md#what-may-have-been-missed);
 * src/stream decides it for the stream. What `Coverage` finds is due until it is written into the inbox, before the next
 * delivery and together with a heartbeat. While it cannot be written, no heartbeat is written either, so a process that
 * ends then is found by the next start.
 */
import type { MissedWhy } from '../core/input.ts';
import type { Missed } from '../inbox/missed.ts';
import type { RefusedWebhooks } from '../inbox/report.ts';

/** The run before, as its last heartbeat in the inbox describes it. */
export interface LastRun {
  /** Epoch ms, wall clock; null if there was no run. */
  readonly aliveAtMs: number | null;
  readonly sinceBootMs: number | null;
  readonly bootId: string | null;
  /** It stopped in order, with everything that may have been missed written down. */
  readonly isStopped: boolean;
  /** Inode of the passed socket that it left open. */
  readonly keptSocket: number | null;
  /** See `Coverage.unsure`. */
  readonly unsureSinceMs: number | null;
}

/** The moment at which this run listens. */
export interface Opening {
  readonly wallMs: number;
  readonly sinceBootMs: number;
  readonly bootId: string | null;
  /** null if this run opened the port itself. */
  readonly passedSocket: PassedSocket | null;
}

export interface PassedSocket {
  readonly inode: number;
  /** The kernel may have refused connections. */
  readonly wasQueueFull: boolean;
}

/** The moment of a commit. */
interface Commit extends Pick<Opening, 'wallMs' | 'sinceBootMs'> {
  /** The run ends: a doubt no longer waits for its pause. */
  readonly isLast?: boolean;
  /**
   * With the first webhook since the first start, or since the secret last changed: nothing showed until now
   * that webhooks reach this host.
   */
  readonly isFirstProof?: boolean;
  /** Requests that were refused before a webhook was accepted. */
  readonly refused?: readonly Pick<RefusedWebhooks, 'variantIds'>[];
}

/** How long connections wait in a socket that nothing serves: longer, and clients and the kernel give up. */
const KEPT_SOCKET_MS = 30_000;
/** Between two looks at the clock, of which there is one a second, and one before each commit. */
const STANDSTILL_MS = 2_000;
/** More variants than this count as everything. */
const MOST_VARIANTS = 10_000;
/** Strangers can cause `cut_off` and `turned_away`, and must not order reads at will. */
const DOUBT_EVERY_MS = 15 * 60_000;
/** Strangers can cause `refused`, and must not fill the inbox. Until it is written, the mirror trusts nothing. */
const REFUSED_EVERY_MS = 5 * 60_000;

/** @returns the time between two runs in which deliveries may have been missed; null if there is none. */
export function missedBetweenRuns(last: LastRun, now: Opening): Missed | null {
  const why = whyBetweenRuns(last, now);
  if (why === null) return null;
  return { why, sinceMs: last.aliveAtMs, untilMs: now.wallMs, variantIds: null };
}

function whyBetweenRuns(last: LastRun, now: Opening): MissedWhy | null {
  if (last.aliveAtMs === null) return 'first_start';
  if (!last.isStopped) return 'killed';
  if (last.keptSocket === null || now.passedSocket === null) return 'port_closed';
  const isSameBoot = last.bootId !== null && last.bootId === now.bootId;
  const pausedMs = isSameBoot ? now.sinceBootMs - (last.sinceBootMs ?? 0) : Infinity;
  const { inode, wasQueueFull } = now.passedSocket;
  const isWhole = inode === last.keptSocket && pausedMs <= KEPT_SOCKET_MS && !wasQueueFull;
  return isWhole ? null : 'kept_socket';
}

export class Coverage {
  readonly #isShared: boolean;
  #seenAtMs: number;
  #seenWallMs: number;
  #missedTimes: Missed[] = [];
  #notStored: NotStored | null = null;
  #doubt: Missed | null = null;
  #doubtWrittenAtMs = Number.NEGATIVE_INFINITY;
  #refusedWrittenAtMs = Number.NEGATIVE_INFINITY;
  #isListening = false;
  #unsure: Missed | null = null;

  /** @param isShared other receivers publish to the same stream: what this one misses, they may have received. */
  constructor(now: Pick<Opening, 'wallMs' | 'sinceBootMs'>, isShared = false) {
    this.#isShared = isShared;
    this.#seenAtMs = now.sinceBootMs;
    this.#seenWallMs = now.wallMs;
  }

  /**
   * With a stream: this host did not listen at times since then, and only the stream shows whether another
   * receiver did. null if there is no such time.
   */
  get unsure(): Missed | null {
    return this.#unsure;
  }

  /** The port is open now. Without a public port, nothing is missed here. */
  opened(last: LastRun, now: Opening): void {
    this.noticeStandstill(now);
    this.#isListening = true;
    if (last.unsureSinceMs !== null) {
      this.#didNotListen({
        why: 'killed',
        sinceMs: last.unsureSinceMs,
        untilMs: now.wallMs,
        variantIds: null,
      });
    }
    const missed = missedBetweenRuns(last, now);
    if (missed === null) return;
    // With a stream, too: this host may replace one whose disk was lost with deliveries that it had not published.
    if (missed.why === 'first_start') this.#missedTimes.push(missed);
    else this.#didNotListen(missed);
  }

  /**
   * Call it before each commit and each second. @returns for how long the process could not read its socket; 0 if it
   * could. The clocks of a virtual machine may stand still with it: then only the wall clock, which is set ahead
   * afterwards, shows the pause.
   */
  noticeStandstill({ wallMs, sinceBootMs }: Pick<Opening, 'wallMs' | 'sinceBootMs'>): number {
    const silentMs = Math.max(sinceBootMs - this.#seenAtMs, wallMs - this.#seenWallMs);
    const sinceMs = this.#seenWallMs;
    this.#seenAtMs = sinceBootMs;
    this.#seenWallMs = wallMs;
    if (silentMs <= STANDSTILL_MS) return 0;
    this.#didNotListen({ why: 'stood_still', sinceMs, untilMs: wallMs, variantIds: null });
    return silentMs;
  }

  /**
   * `/healthz` has answered that commits fail, until now. A balancer may have refused deliveries, about anything, or have
   * sent them elsewhere.
   */
  saidUnfit(wallMs: number): void {
    if (!this.#isShared) this.notStored(null, wallMs);
    else this.#didNotListen({ why: 'not_stored', sinceMs: wallMs, untilMs: wallMs, variantIds: null });
  }

  /** @param variantIds those of one delivery answered 503; null if it names none. */
  notStored(variantIds: readonly string[] | null, wallMs: number): void {
    this.#notStored ??= new NotStored(wallMs);
    this.#notStored.add(variantIds, wallMs);
  }

  /**
   * With a stream: another receiver listened in the time that `unsure` returned, or the stream carries a row that says
   * that none did. If this host has not listened again meanwhile, it stays unsure.
   */
  sure(unsure: Missed): void {
    if (this.#unsure === unsure) this.#unsure = null;
  }

  /** A request that may have been a delivery, about anything, could not be read. */
  doubt(why: 'cut_off' | 'turned_away', wallMs: number): void {
    this.#doubt = {
      why: this.#doubt?.why ?? why,
      sinceMs: this.#doubt?.sinceMs ?? wallMs,
      untilMs: wallMs,
      variantIds: null,
    };
  }

  /** Rows to write before any delivery. */
  due({
    wallMs,
    sinceBootMs,
    isLast = false,
    isFirstProof = false,
    refused = [],
  }: Commit): readonly Missed[] {
    const due = [...this.#missedTimes];
    if (isFirstProof) due.push({ why: 'unproven', sinceMs: null, untilMs: wallMs, variantIds: null });
    const mayWriteRefused = isLast || sinceBootMs - this.#refusedWrittenAtMs >= REFUSED_EVERY_MS;
    if (refused.length > 0 && mayWriteRefused) {
      const variantIds = [...new Set(refused.flatMap((each) => each.variantIds))];
      due.push({ why: 'refused', sinceMs: null, untilMs: wallMs, variantIds });
    }
    if (this.#notStored !== null) due.push(this.#notStored.missed);
    const mayDoubt = isLast || sinceBootMs - this.#doubtWrittenAtMs >= DOUBT_EVERY_MS;
    if (this.#doubt !== null && mayDoubt) due.push(this.#doubt);
    return due;
  }

  /** The rows that `due` returned are on disk. */
  written(rows: readonly Missed[], sinceBootMs: number): void {
    if (rows.length === 0) return;
    this.#missedTimes = this.#missedTimes.filter((missed) => !rows.includes(missed));
    if (rows.some((row) => row === this.#notStored?.missed)) this.#notStored = null;
    if (rows.some(({ why }) => why === 'refused')) this.#refusedWrittenAtMs = sinceBootMs;
    if (!rows.some((row) => row === this.#doubt)) return;
    this.#doubt = null;
    this.#doubtWrittenAtMs = sinceBootMs;
  }

  #didNotListen(missed: Missed): void {
    if (!this.#isListening) return;
    if (!this.#isShared) this.#missedTimes.push(missed);
    else if (this.#unsure === null) this.#unsure = missed;
    else this.#unsure = { ...missed, sinceMs: this.#unsure.sinceMs };
  }
}

/** The deliveries that were answered 503 since the last `not_stored` row. */
class NotStored {
  readonly #variantIds: string[] = [];
  readonly #seen = new Set<string>();
  #missed: Missed;

  constructor(wallMs: number) {
    this.#missed = { why: 'not_stored', sinceMs: wallMs, untilMs: wallMs, variantIds: this.#variantIds };
  }

  /** The row to write. It shares the growing list, because a copy for each commit that fails would be long. */
  get missed(): Missed {
    return this.#missed;
  }

  add(variantIds: readonly string[] | null, wallMs: number): void {
    for (const id of variantIds ?? []) {
      if (this.#seen.size > MOST_VARIANTS) break;
      if (this.#seen.has(id)) continue;
      this.#seen.add(id);
      this.#variantIds.push(id);
    }
    const isAboutAnything =
      this.#missed.variantIds === null || variantIds === null || this.#seen.size > MOST_VARIANTS;
    this.#missed = {
      ...this.#missed,
      untilMs: wallMs,
      variantIds: isAboutAnything ? null : this.#variantIds,
    };
  }
}
