/**
 * Whether a consumer may continue from its number (docs/http-api.md#change-feed,
 * docs/reading-the-mirror.md#following-changes): no change is ever skipped silently.
 */
import type { FeedPage } from '../../mirror/queries/changes.ts';

interface Standing {
  /** The last number it has; null: none, so it begins with the oldest change kept. */
  readonly after: number | null;
  /** The epoch it knows; null: it compares epochs itself. */
  readonly epoch: string | null;
}

/** The answer to a consumer that must start over: read all stock, then continue from the `last_seq` it came with. */
export interface StartOver {
  readonly error: 'epoch_changed' | 'pruned' | 'ahead';
  readonly error_description: string;
  readonly epoch: string;
  readonly last_seq: number;
}

/** @returns null when it may continue. */
export function whyStartOver({ after, epoch }: Standing, page: FeedPage): StartOver | null {
  if (epoch !== null && epoch !== page.epoch) return epochError(page);
  if (after === null) return null;
  if (after > page.lastSeq) {
    return startOver(
      page,
      'ahead',
      `after: ${after} has not been issued yet, the last number is ${page.lastSeq}`,
    );
  }
  return after < page.keptAfterSeq ? prunedError(page, after) : null;
}

export function epochError(page: FeedPage): StartOver {
  return startOver(
    page,
    'epoch_changed',
    `epoch: the mirror’s history has restarted, its epoch is now ${page.epoch}`,
  );
}

export function prunedError(page: FeedPage, after: number): StartOver {
  return startOver(page, 'pruned', `after: the changes from ${after} to ${page.keptAfterSeq} were pruned`);
}

function startOver({ epoch, lastSeq }: FeedPage, error: StartOver['error'], description: string): StartOver {
  return {
    error,
    error_description: `${description}; read all of /api/stock, then continue from its last_seq`,
    epoch,
    last_seq: lastSeq,
  };
}
