/** Copies a source into a replica's event log, and reports how far it is. */
import { rest } from '../platform/sleep.ts';
import type { Copied } from '../event-log/append-loop.ts';
import type { CopyArgs, Place } from '../event-log/event-log.ts';
import { prunedBelow } from '../event-log/event-log.ts';
import type { Logger } from '../platform/log.ts';
import { mayPass } from '../sqlite/errors.ts';
import {
  CannotFollow,
  TransportError,
  type Batch,
  type Need,
  type Source,
  type Standing,
} from './transport.ts';

interface ReplicatorDeps {
  readonly source: Pick<Source, 'name' | 'follow'>;
  readonly copy: (args: CopyArgs) => Promise<Copied>;
  /** Resolves once the tables hold this entry. */
  readonly applied: (seq: number) => Promise<unknown>;
  /** Rows are on disk. */
  readonly onCopied: (positions: readonly (number | null)[], places: readonly Place[]) => void;
  /**
   * Another replica has entries that the engine lost, and will begin a new history. Until then only the base of a new
   * history may be copied; without that exception two replicas with the same end would wait for each other.
   */
  readonly isPassed: () => boolean;
  /** The next rows belong to another history, at least the last of them. */
  readonly onEpoch: () => void;
  readonly log: Logger;
}

/** How far a replica is with what it copies. */
interface ReplicaState {
  /** Entries in the source that are not here yet, as far as is known. */
  readonly left: number;
  /** When it last had everything, on the monotonic clock; null: not since the start. */
  readonly upToDateAtMs: number | null;
  /** Why the source cannot be followed; null: it can. */
  readonly trouble: string | null;
  /** Since when, on the monotonic clock. */
  readonly troubleAtMs: number | null;
  /** What it needs to continue, and since when, on the monotonic clock; null: nothing, or the source is not reached. */
  readonly need: { readonly kind: Need; readonly atMs: number } | null;
}

const PASSED = 'another replica has entries that the engine has lost: it begins a new history';
const RETRY_MS = 500;

export class Replicator {
  readonly #deps: ReplicatorDeps;
  #standing: Standing;
  /** Of the event log here; 0: not known yet. */
  #firstSeq = 0;
  #left = 0;
  #upToDateAtMs: number | null = null;
  #trouble: { readonly why: string; readonly atMs: number } | null = null;
  #need: ReplicaState['need'] = null;

  constructor(deps: ReplicatorDeps, standing: Standing) {
    this.#deps = deps;
    this.#standing = standing;
  }

  get state(): ReplicaState {
    return {
      left: this.#left,
      upToDateAtMs: this.#upToDateAtMs,
      trouble: this.#trouble?.why ?? null,
      troubleAtMs: this.#trouble?.atMs ?? null,
      need: this.#need,
    };
  }

  /** Where the event log stands. */
  get standing(): Standing {
    return this.#standing;
  }

  /** Until aborted. @throws StoreError */
  async run(signal: AbortSignal): Promise<void> {
    const { source, log } = this.#deps;
    while (!signal.aborted) {
      try {
        for await (const batch of source.follow(this.#standing, signal)) {
          await this.#commit(batch);
          // That there is more to come shows nothing: it may be what cannot be followed.
          if (batch.rows.length === 0 && batch.left > 0) continue;
          if (this.#trouble !== null) log.info({ origin: source.name }, 'the source is followed again');
          this.#trouble = null;
          this.#need = null;
        }
      } catch (error) {
        if (signal.aborted) return;
        // A full disk or a lock: the same rows come again.
        if (!(error instanceof CannotFollow || error instanceof TransportError || mayPass(error))) {
          throw error;
        }
        this.#noteNeed(error);
        if (this.#trouble?.why !== error.message) this.#tell(error);
        this.#trouble = { why: error.message, atMs: this.#trouble?.atMs ?? performance.now() };
      }
      await rest(RETRY_MS, signal);
    }
  }

  #tell(error: Error): void {
    const { source, log } = this.#deps;
    const { name: origin } = source;
    // Normal for a new copy.
    const isFirst =
      error instanceof CannotFollow && error.need === 'snapshot' && this.#standing.lastSeq === 0;
    if (isFirst) log.info({ origin }, 'the copy begins with a snapshot');
    else log.warn({ err: error, origin }, 'the source cannot be followed; it is tried again');
  }

  /** While the source cannot be reached, the need stays as it was. */
  #noteNeed(error: Error): void {
    if (!(error instanceof CannotFollow) || error.need === this.#need?.kind) return;
    this.#need = { kind: error.need, atMs: performance.now() };
  }

  async #commit({ rows, positions, cursor, firstSeq, left, isLive }: Batch): Promise<void> {
    const { source, copy, applied, onCopied, onEpoch, isPassed } = this.#deps;
    const [first] = rows;
    if (first !== undefined && first.kind !== 'epoch' && isPassed()) throw new TransportError(PASSED);
    // A prune is bounded; the rest goes with the next batch.
    const isPruning = firstSeq !== null && firstSeq > this.#firstSeq;
    if (rows.length > 0 || isPruning || isNews(cursor, this.#standing.cursor)) {
      // What is deleted must have been applied here.
      if (isPruning || this.#hasPruned(rows)) await applied(this.#standing.lastSeq);
      const epochBefore = this.#standing.epoch;
      const copied = await copy({ rows, firstSeq, origin: source.name, cursor });
      const { places, lastSeq, epoch } = copied;
      this.#standing = { epoch, lastSeq, cursor };
      // One that a lead appended keeps its place among the others, and all positions with it.
      const isNewHistory = rows.some(({ kind, seq }) => kind === 'epoch' && seq !== null);
      if (epoch !== epochBefore && isNewHistory) onEpoch();
      this.#firstSeq = copied.firstSeq;
      onCopied(positions, places);
    }
    this.#left = left;
    if (left > 0 || !isLive) return;
    this.#upToDateAtMs = performance.now();
  }

  /**
   * A `pruned` row that is not the first of its batch may prune rows of that batch, which are not applied yet.
   *
   * @throws Error when it does
   */
  #hasPruned(rows: Batch['rows']): boolean {
    const pruned = rows.filter(({ kind }) => kind === 'pruned');
    const { lastSeq } = this.#standing;
    if (pruned.some(({ payload }) => prunedBelow(payload) > lastSeq + 1)) {
      throw new Error(
        `a batch prunes what comes in it, after entry ${lastSeq}: its source must part it there`,
      );
    }
    return pruned.length > 0;
  }
}

function isNews(cursor: unknown, known: unknown): boolean {
  return JSON.stringify(cursor) !== JSON.stringify(known);
}
