/**
 * Decides when deliveries to this host's port may have been missed (docs/architecture.md#what-may-have-been-missed);
 * src/stream decides it for the stream. What `Coverage` finds is due until it is written into the inbox, before the next
 * delivery and together with a heartbeat. While it cannot be written, no heartbeat is written either, so a process that
 * ends then is found by the next start.
 */
import type { Missed, MissedWhy } from '../core/input.ts';

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

/** The three clocks at one moment. */
export interface Instant {
  readonly wallMs: number;
  /** Suspensions of the machine included. */
  readonly sinceBootMs: number;
  /** Stands still with the machine, and not with the process. */
  readonly monotonicMs: number;
}

interface Noticed {
  /** The own clock has stepped ahead: the wall clock was set, perhaps in steps that were too small to be seen. */
  readonly isClockAhead: boolean;
  /** The kernel may have refused connections; asked only after a stall, since it takes a while. */
  readonly isQueueFull: () => boolean;
}

/** The moment at which this run listens. */
export interface PortOpening extends Instant {
  readonly bootId: string | null;
  /** null if this run opened the port itself. */
  readonly passedSocket: PassedSocket | null;
}

export interface PassedSocket {
  readonly inode: number;
  /** The kernel may have refused connections. */
  readonly wasQueueFull: boolean;
}

/** How long connections wait in a socket that nothing serves: longer, and clients and the kernel give up. */
const UNSERVED_MS = 30_000;
/** Between two readings of the clocks, which are taken once a second and before each commit. */
const STANDSTILL_MS = 2_000;
/** More variants than this count as everything. */
const MOST_VARIANTS = 10_000;

/** @returns the time between two runs in which deliveries may have been missed; null if there is none. */
export function missedBetweenRuns(last: LastRun, now: PortOpening): Missed | null {
  const why = whyBetweenRuns(last, now);
  if (why === null) return null;
  return { why, sinceMs: last.aliveAtMs, untilMs: now.wallMs, variantIds: null };
}

function whyBetweenRuns(last: LastRun, now: PortOpening): MissedWhy | null {
  if (last.aliveAtMs === null) return 'first_start';
  if (!last.isStopped) return 'killed';
  if (last.keptSocket === null || now.passedSocket === null) return 'port_closed';
  const isSameBoot = last.bootId !== null && last.bootId === now.bootId;
  const isSameSocket = isSameBoot && now.passedSocket.inode === last.keptSocket;
  const unservedMs = isSameSocket ? now.sinceBootMs - (last.sinceBootMs ?? 0) : Infinity;
  return keptAll(unservedMs, now.passedSocket.wasQueueFull) ? null : 'unserved';
}

/** The kernel keeps the requests to an open socket, whether its process has stopped, or stalls. */
function keptAll(unservedMs: number, wasQueueFull: boolean): boolean {
  return unservedMs <= UNSERVED_MS && !wasQueueFull;
}

export class Coverage {
  readonly #isShared: boolean;
  #seen: Instant;
  #missedTimes: readonly Missed[] = [];
  #notStored: NotStored | null = null;
  #isListening = false;
  #unsure: Missed | null = null;

  /** @param isShared other receivers publish to the same stream, and may have received what this one missed. */
  constructor(now: Instant, isShared = false) {
    this.#isShared = isShared;
    this.#seen = now;
  }

  /**
   * With a stream: this host did not listen at times since then, and only the stream shows whether another
   * receiver did. null if there is no such time.
   */
  get unsure(): Missed | null {
    return this.#unsure;
  }

  /** The port is open now. Without a public port, nothing is missed here. */
  opened(last: LastRun, now: PortOpening): void {
    this.#seen = now;
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
    if (missed !== null) this.#didNotListen(missed);
  }

  /** Call it before each commit, each second, and before a connection is accepted. */
  look(now: Instant, { isClockAhead, isQueueFull }: Noticed): void {
    const before = this.#seen;
    this.#seen = now;
    const stalledMs = now.monotonicMs - before.monotonicMs;
    // The clocks of a virtual machine may stand still with it: then only the wall clock, which is set ahead afterwards,
    // shows the pause.
    const elapsedMs = Math.max(now.sinceBootMs - before.sinceBootMs, now.wallMs - before.wallMs);
    const missed = { sinceMs: before.wallMs, untilMs: now.wallMs, variantIds: null };
    if (isClockAhead || elapsedMs - stalledMs > STANDSTILL_MS) {
      this.#didNotListen({ why: 'stood_still', ...missed });
    } else if (stalledMs > STANDSTILL_MS && !keptAll(stalledMs, isQueueFull())) {
      this.#didNotListen({ why: 'unserved', ...missed });
    }
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

  /** Rows to write before any delivery. */
  get due(): readonly Missed[] {
    return this.#notStored === null ? this.#missedTimes : [...this.#missedTimes, this.#notStored.missed];
  }

  /** Everything that was due is on disk: call it right after the commit, before anything else is noticed. */
  written(): void {
    this.#missedTimes = [];
    this.#notStored = null;
  }

  #didNotListen(missed: Missed): void {
    if (!this.#isListening) return;
    if (!this.#isShared) this.#missedTimes = [...this.#missedTimes, missed];
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
