/** The end of the course: nothing left to do, nothing suspect, equal to the store's truth. */
import { setTimeout as sleep } from 'node:timers/promises';
import { compareWithTruth } from '../../src/cli/demo/compare.ts';
import type { Truth } from '../../src/sandbox/world/truth.ts';
import { openReader, type Db } from '../../src/sqlite/open.ts';

const LOOK_EVERY_MS = 250;
const SHOWN_DIFFERENCES = 5;

// No read shows a pulled variant's warehouses, so none can clear those that a read made suspect.
const SUSPECT = `SELECT count(*) FROM mirror_stock s WHERE s.suspect = 1 AND NOT EXISTS (
  SELECT 1 FROM stock_levels c JOIN variants v ON v.variant_id = c.variant_id
  WHERE c.variant_id = s.variant_id AND c.warehouse_id = s.warehouse_id
    AND c.unexplained_at_ms IS NOT NULL AND v.kind = 'pulled')`;

/** What is still open, by its name. */
const OPEN: Readonly<Record<string, string>> = {
  'open re-read requests': 'SELECT count(*) FROM read_requests',
  'open gaps': 'SELECT count(*) FROM gaps',
  'suspect rows': SUSPECT,
  'variants of unknown product': 'SELECT count(*) FROM variants WHERE lookup_at_ms IS NOT NULL',
  'runs under way': `SELECT count(*) FROM runs WHERE state = 'running'`,
  'parked or failed reads': 'SELECT count(*) FROM read_failures',
  'pending reads': 'SELECT pending_reads FROM mirror_status',
};

function stillOpen(db: Db): string[] {
  return Object.entries(OPEN).flatMap(([name, sql]) => {
    const count = db.prepare<[], number>(sql).pluck().get() ?? 0;
    return count === 0 ? [] : [`${name}: ${count}`];
  });
}

/** @returns false when the mirror, without help, still has something to do after `withinMs`. */
export async function untilQuiet(path: string, withinMs: number): Promise<boolean> {
  const db = openReader(path);
  try {
    const untilMs = performance.now() + withinMs;
    const state = db.prepare<[], string>('SELECT state FROM mirror_status').pluck();
    while (performance.now() < untilMs) {
      if (state.get() === 'live' && stillOpen(db).length === 0) return true;
      await sleep(LOOK_EVERY_MS);
    }
    return false;
  } finally {
    db.close();
  }
}

export interface Ending {
  /** What is open or differs. */
  readonly problems: string[];
  readonly figures: number;
  /** Levels of pulled variants: no read tells them, and a webhook that a kill lost may have been the last. */
  readonly untold: number;
}

export function endingOf(path: string, truth: Pick<Truth, 'snapshot'>): Ending {
  const db = openReader(path);
  let open;
  try {
    open = stillOpen(db);
  } finally {
    db.close();
  }
  // A kill loses deliveries, so that no row of a pulled variant's warehouse can be counted on.
  const pulled = truth.snapshot().cells.filter(({ kind }) => kind === 'pulled');
  const missed = new Set(pulled.map(({ variantId }) => variantId));
  const { differences, levels, totals, untold } = compareWithTruth(path, truth, missed);
  const problems = open.map((what) => `not quiet at the end: ${what}`);
  if (differences.length > 0) {
    problems.push(
      `${differences.length} figures differ from the store's: ` +
        differences.slice(0, SHOWN_DIFFERENCES).join('; '),
    );
  }
  return { problems, figures: levels + totals, untold };
}
