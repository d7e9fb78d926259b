import type { MirrorApi } from './mirror-api.ts';
import type { ChangesPage, SellablePage } from './answers.ts';
import { rowsAt } from './rows-at.ts';
import type { Position, SnapshotBatch, StartOverReason } from './model.ts';

interface Progress {
  readonly epoch: string;
  /** The next page of rows; null: all were read. */
  readonly after: string | null;
  /** The changes up to here are in the rows. */
  readonly seq: number;
  /** The last number of the latest page: the rows are of one moment once the changes up to it are applied. */
  readonly untilSeq: number;
}

/**
 * The whole stock in parts. The pages are read one after the other, so the changes made meanwhile follow as further
 * parts. After a failure `next` continues with the part that failed; a new epoch begins with the first part again.
 */
export class Snapshot {
  readonly #mirror: MirrorApi;
  readonly #why: StartOverReason;
  #progress: Progress | null = null;

  constructor(mirror: MirrorApi, why: StartOverReason) {
    this.#mirror = mirror;
    this.#why = why;
  }

  /** @throws FeedError, StartOver */
  async next(signal: AbortSignal): Promise<SnapshotBatch> {
    const progress = this.#progress;
    // A mirror that has lost its file has few rows until it has read the whole store.
    if (progress === null) await this.#mirror.untilReadAll(signal);
    if (progress === null || progress.after !== null) {
      const page = await this.#mirror.sellable(progress?.after ?? null, signal);
      if (progress !== null && page.epoch !== progress.epoch) {
        this.#progress = null;
        return this.next(signal);
      }
      return this.#rows(page, progress);
    }
    const from = { epoch: progress.epoch, seq: progress.seq };
    const page = await this.#mirror.changes(from, signal);
    return this.#changes(page, progress, signal);
  }

  #rows(page: SellablePage, before: Progress | null): SnapshotBatch {
    const progress = {
      epoch: page.epoch,
      after: page.has_more ? page.next : null,
      seq: before?.seq ?? page.last_seq,
      untilSeq: page.last_seq,
    };
    this.#progress = progress;
    return {
      kind: 'snapshot',
      why: this.#why,
      isFirst: before === null,
      rows: page.sellable,
      removed: [],
      position: endOf(progress),
    };
  }

  async #changes(page: ChangesPage, before: Progress, signal: AbortSignal): Promise<SnapshotBatch> {
    const variantIds = [...new Set(page.changes.map(({ variant_id: id }) => id))];
    const { rows: present } = await this.#mirror.rowsOf(variantIds, signal);
    const { rows, removed } = rowsAt({ changes: page.changes, present, seq: page.next });
    const progress = { ...before, seq: page.next };
    this.#progress = progress;
    return { kind: 'snapshot', why: this.#why, isFirst: false, rows, removed, position: endOf(progress) };
  }
}

function endOf({ epoch, after, seq, untilSeq }: Progress): Position | null {
  return after === null && seq >= untilSeq ? { epoch, seq } : null;
}
