/**
 * The event log of a replica, as the parts of its mirror append to it: an entry is published first, and is in the log once
 * it has come back from the engine.
 */
import { randomUUID } from 'node:crypto';
import { REPLICA_LAG_MS } from '../core/limits.ts';
import { onlyCopied } from '../event-log/copied-from.ts';
import type { EntryLog } from '../event-log/entry-log.ts';
import type { EncodedEntry, Place, PruneBounds, PrunedLog } from '../event-log/event-log.ts';
import type { LogClient } from '../event-log/log-client.ts';
import { StoreError } from '../sqlite/errors.ts';
import type { Engine, Publication, Published } from './transport.ts';
import { messageOf } from '../platform/thrown.ts';

interface SharedLogDeps {
  readonly log: LogClient;
  /** Null: the entries of another machine are copied, and none are added. */
  readonly engine: Pick<Engine, 'publish'> | null;
  /** Of what is copied. */
  readonly origin: string;
  /** The last entry that the tables hold. */
  readonly appliedSeq: () => number;
}

interface Awaited {
  readonly resolve: (place: Place) => void;
  readonly reject: (error: StoreError) => void;
  readonly late: NodeJS.Timeout;
}

/** With the same id each time, so that it is taken once. */
const ATTEMPTS = 3;
/** From the engine back to this machine. */
const BACK_WITHIN_MS = 10_000;
/** How often the position is noted that `s0` is made of. */
const NOTE_EVERY_MS = 250;

export class SharedLog implements EntryLog {
  readonly prunesByEntry = true;
  readonly #deps: SharedLogDeps;
  /** Appends that wait for their entry to come back, by position. */
  readonly #awaited = new Map<number, Awaited>();
  /** Entries that came back before their append knew the position. */
  readonly #early = new Map<number, Place>();
  #publishing = 0;
  /** What was applied at which time, the last `REPLICA_LAG_MS` and one before. On the monotonic clock. */
  readonly #applied: { readonly atMs: number; readonly seq: number }[] = [];
  #ended: StoreError | null = null;
  readonly #end = Promise.withResolvers<never>();
  readonly #noting: NodeJS.Timeout;

  constructor(deps: SharedLogDeps) {
    this.#deps = deps;
    this.#end.promise.catch(() => undefined);
    this.#noting = setInterval(() => this.#note(), NOTE_EVERY_MS).unref();
  }

  get lastSeq(): number {
    return this.#deps.log.lastSeq;
  }

  /**
   * What had been applied here for as long as the store's replicas lag. The stamps of entries are those of other
   * machines, whose clocks differ, so they cannot say how long ago that was; this machine's stopwatch can.
   */
  get s0(): number {
    const nowMs = performance.now();
    return this.#applied.findLast(({ atMs }) => atMs <= nowMs - REPLICA_LAG_MS)?.seq ?? 0;
  }

  get waitingBytes(): number {
    return this.#deps.log.waitingBytes;
  }

  #note(): void {
    const nowMs = performance.now();
    this.#applied.push({ atMs: nowMs, seq: this.#deps.appliedSeq() });
    const kept = this.#applied.findLastIndex(({ atMs }) => atMs <= nowMs - REPLICA_LAG_MS);
    if (kept > 0) this.#applied.splice(0, kept);
  }

  /** Deliveries come to a receiver's outbox, never here. */
  appendDelivery(): Promise<Place> {
    return Promise.reject(new StoreError('is_copy', 'a replica takes no deliveries by itself'));
  }

  async appendEntry({ kind, atMs, payload, detail }: EncodedEntry): Promise<Place> {
    const { engine, origin } = this.#deps;
    if (engine === null) throw onlyCopied(origin);
    const row = { seq: null, kind, atMs, payload, detail };
    this.#publishing += 1;
    try {
      const { position } = await this.#publish(engine, { id: randomUUID(), row });
      return await this.#back(position);
    } finally {
      this.#publishing -= 1;
      if (this.#publishing === 0) this.#early.clear();
    }
  }

  beat(atMs: number): Promise<void> {
    return this.#deps.log.beat(atMs);
  }

  prune(args: PruneBounds): Promise<PrunedLog> {
    const { engine, origin } = this.#deps;
    if (engine === null) return Promise.reject(onlyCopied(origin));
    return this.#deps.log.prune(args);
  }

  /** Rows are on disk here. @param positions of each, in what carries them. */
  copied(positions: readonly (number | null)[], places: readonly Place[]): void {
    for (const [i, position] of positions.entries()) {
      const place = places[i];
      if (position === null || place === undefined) continue;
      const awaited = this.#awaited.get(position);
      if (awaited === undefined) {
        if (this.#publishing > 0) this.#early.set(position, place);
        continue;
      }
      this.#awaited.delete(position);
      clearTimeout(awaited.late);
      awaited.resolve(place);
    }
  }

  /** Published entries may never come back: another history has begun, or copying has ended. */
  giveUp(why: StoreError, { forGood = false }: { readonly forGood?: boolean } = {}): void {
    if (forGood) {
      this.#ended = why;
      this.#end.reject(why);
      clearInterval(this.#noting);
    }
    for (const { reject, late } of this.#awaited.values()) {
      clearTimeout(late);
      reject(why);
    }
    this.#awaited.clear();
    this.#early.clear();
  }

  async #publish(engine: Pick<Engine, 'publish'>, publication: Publication): Promise<Published> {
    for (let attempt = 1; ; attempt += 1) {
      this.#refuseAfterEnd();
      try {
        // It can take long to find that the engine cannot be reached.
        return await Promise.race([engine.publish(publication), this.#end.promise]);
      } catch (error) {
        this.#refuseAfterEnd();
        const problem = messageOf(error);
        if (attempt === ATTEMPTS) throw new StoreError('cannot_commit', problem, { cause: error });
      }
    }
  }

  /** @throws StoreError */
  #refuseAfterEnd(): void {
    if (this.#ended !== null) throw this.#ended;
  }

  #back(position: number): Promise<Place> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const place = this.#early.get(position);
    if (place !== undefined) return Promise.resolve(place);
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#awaited.delete(position);
        reject(new StoreError('cannot_commit', 'an entry was published, and has not come back in time'));
      }, BACK_WITHIN_MS);
      this.#awaited.set(position, { resolve, reject, late });
    });
  }
}
