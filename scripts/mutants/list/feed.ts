/** What consumers follow: changes, their numbers, epochs (docs/reading-the-mirror.md#following-changes). */
import type { Mutant } from '../mutant.ts';

const variant = 'src/core/apply/apply-variant.ts';
const level = 'src/core/apply/apply-level.ts';

export const FEED: readonly Mutant[] = [
  {
    id: 'change-row-missing',
    breaks: 'every change of a mirrored value has its row (docs/reading-the-mirror.md#views, mirror_changes)',
    file: 'src/core/apply/apply-delivery.ts',
    find: `    changeSeq = work.appendChange({
      ...told,
      warehouseId: change.warehouseId,
      oldQty: shown?.qty ?? null,
      newQty: level.qty,
    });`,
    replace: '    changeSeq = work.nextChangeSeq();',
  },
  {
    id: 'change-row-webhook-old',
    breaks:
      '`old_qty` is what the mirror held before (docs/reading-the-mirror.md#following-changes: each stock level’s rows chain)',
    file: 'src/core/apply/apply-delivery.ts',
    find: '      oldQty: shown?.qty ?? null,',
    replace: '      oldQty: change.old,',
  },
  {
    id: 'drift-row-wrong-old',
    breaks:
      '`old_qty` of a correction is what the mirror held before (docs/reading-the-mirror.md#following-changes: each stock level’s rows chain)',
    file: level,
    find: `    sku: variant.sku,
    oldQty,
    newQty,`,
    replace: `    sku: variant.sku,
    oldQty: null,
    newQty,`,
  },
  {
    id: 'rename-keeps-numbers',
    breaks: 'a new name gives its rows a new change_seq (docs/reading-the-mirror.md#following-changes)',
    file: variant,
    find: '  if (redescribed) renumberLevels(work, seen.variantId);',
    replace: '',
    first: 'simulation',
  },
  {
    id: 'on-hand-keeps-number',
    breaks: 'a new on_hand gives its row a new change_seq (docs/reading-the-mirror.md#following-changes)',
    file: level,
    find: 'tables.putStockLevel(revalued ? { ...level, changeSeq: work.nextChangeSeq() } : level);',
    replace: 'tables.putStockLevel(revalued ? level : level);',
    first: 'simulation',
  },
  {
    id: 'change-seq-not-given',
    breaks: 'a changed row carries the number of its change (docs/reading-the-mirror.md#following-changes)',
    file: 'src/core/apply/apply-delivery.ts',
    find: '    tables.putStockLevel({ ...level, changeSeq });',
    replace: '    tables.putStockLevel(level);',
    first: 'simulation',
  },
  {
    id: 'removal-row-missing',
    breaks:
      'a removal has its row in the feed (docs/reading-the-mirror.md#following-changes: reason `removed`)',
    file: 'src/core/apply/removal.ts',
    find: `  const changeSeq = work.appendChange({
    ...REMOVED,
    variantId: level.variantId,
    warehouseId: level.warehouseId,
    sku: tables.variant(level.variantId)?.sku ?? null,
    oldQty: level.qty,
  });`,
    replace: '  const changeSeq = work.nextChangeSeq();',
  },
  {
    id: 'feed-numbers-repeat',
    breaks: 'numbers only grow (docs/reading-the-mirror.md#following-changes)',
    file: 'src/core/apply/unit-of-work.ts',
    find: 'const changeSeq = this.state.changeSeq + 1;',
    replace: 'const changeSeq = Math.max(1, this.state.changeSeq);',
  },
  {
    id: 'epoch-kept-after-restore',
    breaks: 'a restored backup begins a new epoch (docs/reading-the-mirror.md#following-changes)',
    file: 'src/event-log/epoch.ts',
    find: '  if (why === null) {',
    replace: '  if (why !== undefined) {',
    first: 'simulation',
    tests: ['test/event-log/epoch.test.ts'],
  },
  {
    id: 'epoch-reuses-numbers',
    breaks:
      "a new epoch's numbers are above all that were given out (docs/reading-the-mirror.md#following-changes)",
    file: 'src/core/apply/apply-entry.ts',
    find: 'changeSeq: Math.max(changeSeq, entry.givenOutSeq) + 1,',
    replace: 'changeSeq,',
    first: 'simulation',
    tests: ['test/event-log/epoch.test.ts'],
  },
  {
    id: 'epoch-reached-from-any-mirror',
    breaks:
      'what a mirror had of a lost event log is not made of what is left: that would be another history (docs/architecture.md#epoch)',
    file: 'src/event-log/epoch.ts',
    find: 'const reachedFrom = isReached ?',
    replace: 'const reachedFrom = isReached || lastSeq > 0 ?',
    first: 'simulation',
    tests: ['test/event-log/epoch.test.ts'],
  },
  {
    id: 'epoch-rows-trusted',
    breaks: 'in a new epoch every product is read again (docs/reading-the-mirror.md#following-changes)',
    file: 'src/core/apply/apply-entry.ts',
    find: `    changeSeq: Math.max(changeSeq, entry.givenOutSeq) + 1,
    trustedAfterMs: entry.atMs + REPLICA_LAG_MS,`,
    replace: '    changeSeq: Math.max(changeSeq, entry.givenOutSeq) + 1,',
    first: 'simulation',
    tests: ['test/event-log/epoch.test.ts'],
  },
];
