/**
 * Whether a consumer may go on from where it stands (docs/http-api.md#change-feed,
 * docs/reading-the-mirror.md#following-changes): nothing is ever passed over in silence.
 */
import type { FeedPage, Position } from '../../store/queries/changes.ts';

export interface Standing {
  /** The last number it has; null: it has none and takes what is kept. */
  readonly after: number | null;
  /** The epoch it knows; null: it compares for itself. */
  readonly epoch: string | null;
}

/** Told to a consumer that must start over: read the stock whole, and go on from the `last_seq` it came with. */
export interface StartOver {
  readonly error: 'epoch_changed' | 'pruned' | 'ahead';
  readonly error_description: string;
  readonly epoch: string;
  readonly last_seq: number;
}

/** @returns null when it may go on. */
export function whyStartOver({ after, epoch }: Standing, page: FeedPage): StartOver | null {
  if (epoch !== null && epoch !== page.epoch) {
    return startOver(page, 'epoch_changed', `epoch: history has started again, and is ${page.epoch} now`);
  }
  if (after === null) return null;
  if (after > page.lastSeq) {
    return startOver(
      page,
      'ahead',
      `after: ${after} was not given out yet, the last number is ${page.lastSeq}`,
    );
  }
  return after < page.keptAfterSeq ? prunedError(page, after) : null;
}

export function prunedError(page: FeedPage, after: number): StartOver {
  return startOver(page, 'pruned', `after: changes after ${after} were pruned, up to ${page.keptAfterSeq}`);
}

function startOver({ epoch, lastSeq }: Position, error: StartOver['error'], description: string): StartOver {
  return {
    error,
    error_description: `${description}; read /api/stock whole, and go on from there`,
    epoch,
    last_seq: lastSeq,
  };
}
