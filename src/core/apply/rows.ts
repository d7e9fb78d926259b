/** Writers that decide nothing: rows of levels and gaps, with the invariants that every judge must keep. */
import { EARLIEST_MS, REPLICA_LAG_MS } from '../limits.ts';
import type { GapVerdict } from '../merge/judge-gap.ts';
import type { Gap, GapKind, StockLevel } from '../model.ts';
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

type Place = Pick<Gap, 'variantId' | 'warehouseId'>;

export function gapsOf({ tables }: UnitOfWork, { variantId, warehouseId }: Place, kind: GapKind): Gap[] {
  return tables.gapsOf(variantId).filter((gap) => gap.warehouseId === warehouseId && gap.kind === kind);
}

/** @param atMs of the change or answer that came last. */
export function openOrder(
  work: UnitOfWork,
  values: Place & Pick<Gap, 'fromQty' | 'toQty'>,
  productId: string | null,
  atMs: number,
): void {
  endOrder(work, values);
  const pauseEndsAtMs = productId === null ? EARLIEST_MS : work.pauseEndsAtMs(productId, 'order');
  const inboxSeq = work.input.kind === 'delivery' ? work.input.inboxSeq : work.state.inboxSeq;
  const dueAtMs = Math.max(atMs + REPLICA_LAG_MS, pauseEndsAtMs);
  work.tables.putGap({ ...values, kind: 'order', inboxSeq, openedAtMs: atMs, dueAtMs });
}

export function endOrder(work: UnitOfWork, place: Place): void {
  for (const gap of gapsOf(work, place, 'order')) work.tables.deleteGap(gap);
}

/** Clients that poll by change number must receive the new description with every row that shows it. */
export function renumberLevels(work: UnitOfWork, variantId: string): void {
  for (const level of work.tables.stockLevelsOf(variantId)) {
    if (level.goneAtMs === null) writeLevel(work, level, { ...level, changeSeq: work.nextChangeSeq() });
  }
}
