/** Writers that decide nothing: rows of levels and gaps, with the invariants that every judge must keep. */
import { EARLIEST_MS, REPLICA_LAG_MS } from '../limits.ts';
import type { GapVerdict } from '../merge/judge-gap.ts';
import type { StockLevel } from '../model.ts';
import { assertInvariant } from './invariant.ts';
import type { UnitOfWork } from './unit-of-work.ts';

export function writeLevel(work: UnitOfWork, before: StockLevel | undefined, level: StockLevel): void {
  const beforeMs = before?.eventTimeMs ?? EARLIEST_MS;
  assertInvariant(
    level.eventTimeMs >= beforeMs,
    'the event time never falls',
    () => `${level.variantId}/${level.warehouseId}, ${beforeMs} to ${level.eventTimeMs}`,
  );
  work.tables.putStockLevel(level);
}

export function writeGap({ tables, report }: UnitOfWork, verdict: GapVerdict): void {
  switch (verdict.kind) {
    case 'opened':
      assertInvariant(
        verdict.gap.dueAtMs - verdict.gap.openedAtMs >= REPLICA_LAG_MS,
        'a read after the grace of a gap meets it',
        () => `opened at ${verdict.gap.openedAtMs}, due at ${verdict.gap.dueAtMs}`,
      );
      tables.putGap(verdict.gap);
      report({ kind: 'gap_opened', gap: verdict.gap });
      return;
    case 'closed':
      tables.deleteGap(verdict.gap);
      report({ kind: 'gap_closed', gap: verdict.gap });
      return;
    case 'narrowed':
      tables.putGap(verdict.gap);
      return;
    case 'none':
    case 'doubtful':
  }
}

/** Clients that poll by change number must receive the new description with every row that shows it. */
export function renumberLevels(work: UnitOfWork, variantId: string): void {
  for (const level of work.tables.stockLevelsOf(variantId)) {
    if (level.goneAtMs === null) writeLevel(work, level, { ...level, changeSeq: work.nextChangeSeq() });
  }
}
