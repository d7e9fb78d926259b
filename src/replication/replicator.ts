/** Copies what a source has into a replica's event log, and says how it stands. */
import { rest } from '../platform/sleep.ts';
import type { Copied } from '../event-log/append-loop.ts';
import type { CopyArgs, Place } from '../event-log/event-log.ts';
import type { Logger } from '../platform/log.ts';
import { SnapshotNeeded, TransportError, type Batch, type Source, type Standing } from './transport.ts';

interface ReplicatorDeps {
  readonly source: Pick<Source, 'name' | 'follow'>;
  readonly copy: (args: CopyArgs) => Promise<Copied>;
  /** Resolves once the tables hold this entry. */
  readonly applied: (seq: number) => Promise<unknown>;
  /** Rows are on disk. */
  readonly onCopied: (positions: readonly (number | null)[], places: readonly Place[]) => void;
  /** It has caught up with a source that is itself up to date. */
  readonly onLevel: () => void;
  readonly log: Logger;
}

/** How a replica stands to what it copies. */
interface ReplicaState {
  readonly origin: string;
  /** How many entries are known to be there that are not here. */
  readonly left: number;
  /** When it last had everything, on the monotonic clock; null: not since the start. */
  readonly levelAtMs: number | null;
  /** Why it cannot be followed at present; null: nothing is in the way. */
  readonly trouble: string | null;
  /** Since when it has no history that could be followed, on the monotonic clock; null: it has one, or is not reached. */
  readonly lostAtMs: number | null;
}

const RETRY_MS = 500;

export class Replicator {
  readonly #deps: ReplicatorDeps;
  #standing: Standing;
  #firstSeq = 0;
  #left = 0;
  #levelAtMs: number | null = null;
  #trouble: string | null = null;
  #lostAtMs: number | null = null;

  constructor(deps: ReplicatorDeps, standing: Standing) {
    this.#deps = deps;
    this.#standing = standing;
  }

  get state(): ReplicaState {
    const { name: origin } = this.#deps.source;
    return {
      origin,
      left: this.#left,
      levelAtMs: this.#levelAtMs,
      trouble: this.#trouble,
      lostAtMs: this.#lostAtMs,
    };
  }

  /** Where the event log stands. */
  get standing(): Standing {
    return this.#standing;
  }

  /** Until aborted. @throws SnapshotNeeded when others have a history to follow; StoreError */
  async run(signal: AbortSignal): Promise<void> {
    const { source, log } = this.#deps;
    while (!signal.aborted) {
      try {
        for await (const batch of source.follow(this.#standing, signal)) {
          await this.#commit(batch);
          if (this.#trouble !== null) log.info({ origin: source.name }, 'the source is followed again');
          this.#trouble = null;
          this.#lostAtMs = null;
        }
      } catch (error) {
        if (signal.aborted) return;
        const isLost = error instanceof SnapshotNeeded && error.isLost;
        if (!isLost && !(error instanceof TransportError)) throw error;
        this.#lostAtMs = isLost ? (this.#lostAtMs ?? performance.now()) : null;
        if (this.#trouble !== error.message) {
          log.warn({ err: error, origin: source.name }, 'the source cannot be followed; it is tried again');
        }
        this.#trouble = error.message;
      }
      await rest(RETRY_MS, signal);
    }
  }

  async #commit({ rows, positions, cursor, firstSeq, left, isLive }: Batch): Promise<void> {
    const { source, copy, applied, onCopied, onLevel } = this.#deps;
    const isPruning = firstSeq !== null && firstSeq > this.#firstSeq;
    if (rows.length > 0 || isPruning || isNews(cursor, this.#standing.cursor)) {
      // What goes must have been applied here as well.
      if (isPruning || rows[0]?.kind === 'pruned') await applied(this.#standing.lastSeq);
      const { places, lastSeq, epoch } = await copy({ rows, firstSeq, origin: source.name, cursor });
      this.#standing = { epoch, lastSeq, cursor };
      this.#firstSeq = Math.max(this.#firstSeq, firstSeq ?? 0);
      onCopied(positions, places);
    }
    this.#left = left;
    if (left > 0 || !isLive) return;
    this.#levelAtMs = performance.now();
    onLevel();
  }
}

function isNews(cursor: unknown, known: unknown): boolean {
  return JSON.stringify(cursor) !== JSON.stringify(known);
}
