/** How certain the stock levels were in the last day and before. */
import type { Db } from '../../sqlite/open.ts';
import { prepared } from '../../sqlite/prepared.ts';

export const QUARTER_MS = 15 * 60_000;

/** The worst of a quarter of an hour. One that is not there is not known: the mirror did not run, or could not write. */
export interface CertainQuarter {
  readonly atMs: number;
  readonly certain: number;
  readonly levels: number;
}

/** Oldest first. */
export function certaintyCourse(db: Db, args: { readonly sinceMs: number }): CertainQuarter[] {
  return prepared<object, CertainQuarter>(
    db,
    `SELECT quarter * ${QUARTER_MS} AS atMs, certain, levels FROM certainty
       WHERE (quarter + 1) * ${QUARTER_MS} > @sinceMs ORDER BY quarter`,
  ).all(args);
}
