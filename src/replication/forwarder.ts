/**
 * Forwards what a receiver has answered to the engine, in order. Acknowledged rows stay in the outbox for ten minutes, and
 * are sent again if the engine loses them.
 */
import { bodyHash } from '../event-log/body-hash.ts';
import type { LogRow } from '../event-log/entries.ts';
import type { LogClient } from '../event-log/log-client.ts';
import type { LogReader } from '../event-log/read-log.ts';
import type { Logger } from '../platform/log.ts';
import { orAborted } from '../platform/or-aborted.ts';
import { rest } from '../platform/sleep.ts';
import { mayPass } from '../sqlite/errors.ts';
import { TransportError, type Engine, type Publication } from './transport.ts';

interface ForwarderDeps {
  readonly outbox: Pick<LogClient, 'lastSeq' | 'copy' | 'epoch' | 'copiedFrom'>;
  readonly reader: LogReader;
  readonly engine: Pick<Engine, 'name' | 'publish' | 'isKept'>;
  readonly log: Logger;
  readonly now: () => number;
}

/** How far the engine has acknowledged the outbox, with the receipt. Stored in the outbox. */
interface Acknowledged {
  readonly seq: number;
  readonly receipt: unknown;
}

/** What waits for the engine. */
export interface Backlog {
  readonly entries: number;
  /** How long the oldest of them has waited. */
  readonly ageMs: number;
  /** Why nothing can be forwarded; null: it can. */
  readonly trouble: string | null;
}

/** Acknowledged rows stay this long: an engine that loses its last minutes gets them again. */
const KEPT_MS = 10 * 60_000;
const NOTED_EVERY_MS = 1_000;
/** A loss cannot be seen otherwise: an engine that has lost its end accepts what comes next as before. */
const ASKED_EVERY_MS = 1_000;
/** Servers that were all restarted take some seconds to know what they have. */
const LOST_FOR_MS = 10_000;
const RETRY_MS = 500;
const IDLE_MS = 250;
/** What arrives within this time is sent together, unless `MANY` wait already. */
const TOGETHER_MS = 20;
const MANY = 128;

export class Forwarder {
  readonly #deps: ForwarderDeps;
  readonly #stop = new AbortController();
  #acknowledged: Acknowledged;
  /** Receipts since the last check: one for each turn of forwarding. */
  #unproven: unknown[];
  #notedSeq = 0;
  /** Acknowledged up to which row, and when, on the monotonic clock: tells what is old enough to delete. */
  readonly #kept: { readonly seq: number; readonly atMs: number }[] = [];
  #waitsSinceMs: number | null = null;
  /** Rows up to this one were acknowledged, lost, and wait again since then. */
  #again = { seq: 0, sinceMs: 0 };
  /** Rows before this one are old enough to delete. A prune is bounded: `#firstSeq` is the first row still there. */
  #firstKept = 0;
  #firstSeq = 0;
  /** Since when an acknowledged row has been missing, on the monotonic clock; null: none is. */
  #lostAtMs: number | null = null;
  #trouble: string | null = null;
  #wake: (() => void) | null = null;

  constructor(deps: ForwarderDeps) {
    this.#deps = deps;
    this.#acknowledged = acknowledgedIn(deps.outbox);
    this.#unproven = provable(this.#acknowledged);
    this.#notedSeq = this.#acknowledged.seq;
    if (this.#notedSeq > 0) this.#kept.push({ seq: this.#notedSeq, atMs: performance.now() });
  }

  get backlog(): Backlog {
    const { outbox, now } = this.#deps;
    const entries = outbox.lastSeq - this.#acknowledged.seq;
    const ageMs = entries === 0 || this.#waitsSinceMs === null ? 0 : Math.max(0, now() - this.#waitsSinceMs);
    return { entries, ageMs, trouble: this.#trouble };
  }

  /** The outbox has more. */
  wake(): void {
    this.#wake?.();
  }

  /** Until stopped. @throws StoreError when the outbox cannot be read or written. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    let askedMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      try {
        if (performance.now() - askedMs >= ASKED_EVERY_MS) {
          await this.#offerAgainWhatIsLost();
          askedMs = performance.now();
        }
        const forwarded = await this.#forwardSome();
        if (forwarded === 0) await this.#idle();
        if (this.#trouble !== null) this.#deps.log.info('deliveries are forwarded again');
        this.#trouble = null;
        await this.#note();
        if (forwarded < MANY) await rest(TOGETHER_MS, signal);
      } catch (error) {
        // A full disk or a lock: the note is written later.
        if (!(error instanceof TransportError) && !mayPass(error)) throw error;
        if (signal.aborted) return;
        if (this.#trouble !== error.message) {
          this.#deps.log.warn({ err: error }, 'deliveries cannot be forwarded; they are kept in the outbox');
        }
        this.#trouble = error.message;
        this.#lookAtOldest();
        askedMs = Number.NEGATIVE_INFINITY;
        await rest(RETRY_MS, signal);
      }
    }
  }

  stop(): void {
    this.#stop.abort();
    this.#wake?.();
  }

  /**
   * An engine that loses its end keeps what it accepts afterwards, so the newest receipt alone proves nothing about those
   * before it.
   */
  async #offerAgainWhatIsLost(): Promise<void> {
    const { engine, reader, outbox, log, now } = this.#deps;
    const asked = this.#unproven;
    // It can take long to find that the engine cannot be reached.
    const kept = await orAborted(
      Promise.all(asked.map((receipt) => engine.isKept(receipt))),
      this.#stop.signal,
    );
    if (kept === undefined) return;
    if (kept.every(Boolean)) {
      this.#unproven = provable(this.#acknowledged);
      this.#lostAtMs = null;
      return;
    }
    this.#lostAtMs ??= performance.now();
    if (performance.now() - this.#lostAtMs < LOST_FOR_MS) return;
    this.#lostAtMs = null;
    log.warn('the engine has lost what it had acknowledged: the last ten minutes are sent again');
    const { seq } = this.#acknowledged;
    const [oldest] = reader.after(0, outbox.lastSeq);
    const [never] = reader.after(seq, outbox.lastSeq);
    this.#again = { seq, sinceMs: Math.min(now(), never?.atMs ?? Number.POSITIVE_INFINITY) };
    this.#acknowledged = { seq: (oldest?.seq ?? 1) - 1, receipt: null };
    this.#unproven = [];
    this.#kept.splice(0);
  }

  /** @returns how many. @throws TransportError */
  async #forwardSome(): Promise<number> {
    const { reader, outbox, engine } = this.#deps;
    const after = this.#acknowledged.seq;
    const rows = reader.after(after, outbox.lastSeq);
    this.#waitsSinceMs = this.#waitsSince(rows[0]);
    if (rows.length === 0) return 0;
    const published = await orAborted(
      Promise.allSettled(rows.map((row) => engine.publish(publicationOf(row, outbox.epoch)))),
      this.#stop.signal,
    );
    if (published === undefined) return 0;
    for (const [i, outcome] of published.entries()) {
      const row = rows[i];
      if (outcome.status === 'rejected') {
        this.#toProve();
        throw outcome.reason;
      }
      if (row !== undefined) this.#acknowledged = { seq: row.seq, receipt: outcome.value.receipt };
    }
    this.#toProve();
    return rows.length;
  }

  #toProve(): void {
    this.#unproven.push(...provable(this.#acknowledged));
  }

  #lookAtOldest(): void {
    const { reader, outbox } = this.#deps;
    this.#waitsSinceMs = this.#waitsSince(reader.after(this.#acknowledged.seq, outbox.lastSeq)[0]);
  }

  #waitsSince(oldest: LogRow | undefined): number | null {
    if (oldest === undefined) return null;
    return oldest.seq <= this.#again.seq ? Math.max(oldest.atMs, this.#again.sinceMs) : oldest.atMs;
  }

  /** Once a second: notes how far the engine has acknowledged, for the next start, and deletes old rows. */
  async #note(): Promise<void> {
    const { outbox, engine } = this.#deps;
    const nowMs = performance.now();
    const { seq } = this.#acknowledged;
    if (nowMs - (this.#kept.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) < NOTED_EVERY_MS) return;
    const old = this.#kept.findLastIndex(({ atMs }) => atMs < nowMs - KEPT_MS);
    const gone = this.#kept[old]?.seq ?? 0;
    // The last row stays, whatever its age.
    if (gone > 0) this.#firstKept = Math.min(gone + 1, outbox.lastSeq);
    const firstSeq = this.#firstKept > this.#firstSeq ? this.#firstKept : null;
    if (seq === this.#notedSeq && firstSeq === null) return;
    const copied = await outbox.copy({ rows: [], firstSeq, origin: engine.name, cursor: this.#acknowledged });
    this.#firstSeq = copied.firstSeq;
    this.#kept.splice(0, old + 1);
    this.#kept.push({ seq, atMs: nowMs });
    this.#notedSeq = seq;
  }

  async #idle(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, IDLE_MS).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
  }
}

/** A delivery has the same id on all receivers; any other entry belongs to this outbox. */
function publicationOf({ seq, kind, atMs, payload }: LogRow, outboxId: string): Publication {
  const id = kind === 'delivery' ? bodyHash(payload).toString('hex') : `${outboxId}-${seq}`;
  return { id, row: { seq: null, kind, atMs, payload: new Uint8Array(payload), detail: null } };
}

/** The receipt to check later, if there is one. */
function provable({ receipt }: Acknowledged): unknown[] {
  return receipt === null || receipt === undefined ? [] : [receipt];
}

function acknowledgedIn({ copiedFrom }: Pick<LogClient, 'copiedFrom'>): Acknowledged {
  const { seq, receipt } = (copiedFrom?.cursor ?? {}) as Partial<Acknowledged>;
  return typeof seq === 'number' ? { seq, receipt } : { seq: 0, receipt: null };
}
