/** How a read merges (docs/architecture.md#reads). */
import type { Mutant } from '../mutant.ts';

const file = 'src/core/merge-read.ts';

export const READ: readonly Mutant[] = [
  {
    id: 'read-overwrites-later-delivery',
    breaks:
      'a read never overwrites what was committed after it was sent (docs/architecture.md#reads: event_seq > s0)',
    file,
    find: 'read.superseded || touched.eventSeq > read.s0 || read.sentAtMs',
    replace: 'read.superseded || read.sentAtMs',
    tests: ['test/core/merge-read.test.ts'],
  },
  {
    id: 'read-ignores-replica-lag',
    breaks:
      'a read never overwrites what came within the 2 s before it was sent (docs/architecture.md#reads: lagging replicas)',
    file,
    find: ' || read.sentAtMs < touched.eventAtMs + REPLICA_LAG_MS;',
    replace: ';',
  },
  {
    id: 'concurrent-read-no-obligation',
    breaks: 'a concurrent read that differs asks for another (docs/architecture.md#reads)',
    file,
    find: '      oblige: !agrees,',
    replace: '      oblige: false,',
  },
  {
    id: 'concurrent-read-leaves-no-window',
    breaks:
      'a change that a concurrent read may have seen asks for a read (docs/architecture.md#changes, rules 3 and 4b)',
    file,
    find: '    readHiMs: Math.max(cell.readHiMs, read.hiMs),',
    replace: '    readHiMs: cell.readHiMs,',
    tests: ['test/core/merge-read.test.ts'],
  },
  {
    id: 'overlapping-reads-trusted',
    breaks:
      'of two reads that overlap and differ, neither is known to be the later (docs/architecture.md#reads)',
    file: 'src/core/fold-read.ts',
    find: '  if (differs && read.overlaps) {',
    replace: '  if (differs && read.overlaps && read.s0 < 0) {',
    tests: ['test/core/found-wrong.test.ts'],
  },
  {
    id: 'overlap-by-sending',
    breaks: 'a read is on its way until it is answered (docs/architecture.md#reads)',
    file: 'src/core/fold-read.ts',
    find: 'readUntilMs: Math.max(product.readUntilMs, sentAtMs, receivedAtMs)',
    replace: 'readUntilMs: Math.max(product.readUntilMs, sentAtMs)',
    tests: ['test/core/found-wrong.test.ts'],
  },
  {
    id: 'overlap-without-superseded',
    breaks: 'a superseded answer may have been sampled last (docs/architecture.md#reads)',
    file: 'src/core/fold-read.ts',
    find: '  if (read.superseded && product !== undefined) tables.putProduct(product);',
    replace: '',
    tests: ['test/core/found-wrong.test.ts'],
  },
  {
    id: 'overlapping-absence-trusted',
    breaks: 'what one of two overlapping reads missed is read again (docs/architecture.md#removals)',
    file: 'src/core/fold-variant.ts',
    find: 'return before !== undefined && before.missingAtMs !== null && after.missingAtMs === null;',
    replace: 'return before === undefined && after.missingAtMs === undefined;',
    tests: ['test/core/found-wrong.test.ts'],
  },
  {
    id: 'superseded-read-settles',
    breaks: 'a superseded answer ends no re-read request (docs/architecture.md#re-read-requests)',
    file: 'src/core/fold-read.ts',
    find: '  if (standing !== undefined && !read.superseded) settleObligation',
    replace: '  if (standing !== undefined) settleObligation',
    tests: ['test/core/found-wrong.test.ts'],
  },
  {
    id: 'total-leaves-no-window',
    breaks: 'a total without warehouses may hold a change that comes later (docs/architecture.md#totals)',
    file: 'src/core/fold-variant.ts',
    find: 'return levels === null ? hiMs : EARLIEST_MS;',
    replace: 'return levels === null ? EARLIEST_MS : hiMs;',
    tests: ['test/core/found-wrong.test.ts'],
  },
  {
    id: 'total-agrees-by-chance',
    breaks: 'a concurrent total settles nothing, even where it agrees (docs/architecture.md#totals)',
    file: 'src/core/fold-variant.ts',
    find: 'const agrees = oldQty === newQty && seen.levels !== null && explainedQty === 0;',
    replace: 'const agrees = oldQty === newQty;',
  },
  {
    id: 'first-total-trusted',
    breaks: 'a total that no read has verified vouches for no level (docs/architecture.md#totals)',
    file: 'src/core/fold-variant.ts',
    find: 'isTrusted: variant.verifiedAtMs !== null && oldQty === newQty }',
    replace: 'isTrusted: oldQty === newQty }',
    tests: ['test/core/found-wrong.test.ts'],
  },
  {
    id: 'restored-total-trusted',
    breaks:
      'the total of a variant that is back vouches for no level (docs/architecture.md#variants-that-come-back)',
    file: 'src/core/fold-variant.ts',
    find: 'isTrusted: variant.verifiedAtMs !== null && oldQty === newQty }',
    replace: 'isTrusted: variant.verifiedAtMs !== null && variant.availableQty === newQty }',
    tests: ['test/core/found-wrong.test.ts'],
  },
  {
    id: 'low-watermark-stays-ahead',
    breaks:
      'a low watermark above a later read’s window came from a wrong clock (docs/architecture.md#reads)',
    file,
    find: 'readLoMs: cell.readLoMs > read.hiMs ? read.loMs : Math.max(cell.readLoMs, read.loMs),',
    replace: 'readLoMs: Math.max(cell.readLoMs, read.loMs),',
    tests: ['test/core/found-wrong.test.ts'],
  },
  {
    id: 'superseded-read-merged',
    breaks:
      'an answer asked for before the one merged last is not merged over it (docs/architecture.md#reads)',
    file: 'src/core/fold-read.ts',
    find: 'superseded: product !== undefined && entry.sentAtMs < product.readAtMs,',
    replace: 'superseded: false,',
  },
  {
    id: 'superseded-unknown-cell-no-obligation',
    breaks: 'a stock level that only a superseded answer shows asks for a read (docs/architecture.md#reads)',
    file,
    find: "branch: 'superseded, unknown cell', cell: null, overwritten: null, oblige: true }",
    replace: "branch: 'superseded, unknown cell', cell: null, overwritten: null, oblige: false }",
    tests: ['test/core/merge-read.test.ts'],
  },
  {
    id: 'read-lo-lowered',
    breaks: 'read_lo never falls (docs/architecture.md#reads)',
    file,
    find: 'readLoMs: cell.readLoMs > read.hiMs ? read.loMs : Math.max(cell.readLoMs, read.loMs),',
    replace: 'readLoMs: read.loMs,',
    first: 'simulation',
  },
  {
    id: 'read-window-not-set',
    breaks: 'a read sets the window of what it saw (docs/architecture.md#reads)',
    file,
    find: `    readHiMs: read.hiMs,
    verifiedAtMs: read.sentAtMs,`,
    replace: `    verifiedAtMs: read.sentAtMs,`,
  },
  {
    id: 'read-drift-not-corrected',
    breaks: 'a dominated read that differs overwrites (docs/architecture.md#reads)',
    file,
    find: `    overwritten: drift ? { oldQty: cell.qty } : null,`,
    replace: `    overwritten: null,`,
  },
  {
    id: 'concurrent-total-no-obligation',
    breaks:
      'a total that a concurrent read shows otherwise asks for a read (docs/architecture.md#reads, docs/architecture.md#totals)',
    file: 'src/core/fold-variant.ts',
    find: '  if (concurrent && !agrees) {',
    replace: '  if (concurrent && !agrees && read.s0 < 0) {',
  },
  {
    id: 'read-overwrites-later-total',
    breaks: 'a read never overwrites a total that moved after it was sent (docs/architecture.md#totals)',
    file: 'src/core/fold-variant.ts',
    find: '(concurrent && oldQty !== null && oldQty !== newQty)) {',
    replace: 'false) {',
  },
  {
    id: 'concurrent-read-resurrects',
    breaks: 'a concurrent read neither brings a tombstone back nor creates (docs/architecture.md#removals)',
    file: 'src/core/fold-variant.ts',
    find: 'if ((known === undefined || known.goneAtMs !== null) && isConcurrent(before, read)) {',
    replace: 'if (known === undefined && isConcurrent(before, read)) {',
    tests: ['test/core/fold-removal.test.ts'],
  },
  {
    id: 'total-not-moved',
    breaks: 'a change moves the total of its variant (docs/architecture.md#totals)',
    file: 'src/core/fold-delivery.ts',
    find: 'return { ...variant, availableQty: total + deltaQty, asOfMs',
    replace: 'return { ...variant, availableQty: total, asOfMs',
  },
  {
    id: 'total-moved-twice',
    breaks: 'a change moves the total once (docs/architecture.md#totals)',
    file: 'src/core/fold-delivery.ts',
    find: 'return { ...variant, availableQty: total + deltaQty, asOfMs',
    replace: 'return { ...variant, availableQty: total + 2 * deltaQty, asOfMs',
  },
  {
    id: 'new-cell-moves-total-by-all',
    breaks:
      'a new stock level moves the total from what the change found there (docs/architecture.md#totals)',
    file: 'src/core/fold-delivery.ts',
    find: 'before === undefined || before.unexplainedAtMs !== null ? change.old : before.qty;',
    replace: 'before === undefined ? 0 : before.qty;',
    tests: ['test/core/fold-total.test.ts'],
  },
  {
    id: 'pulled-cells-not-suspect',
    breaks:
      "a total that moved unexplained puts a pulled variant's rows under suspicion (docs/architecture.md#totals)",
    file: 'src/core/fold-variant.ts',
    find: 'if (!isTrusted) suspectCells',
    replace: 'if (!isTrusted && read.s0 < 0) suspectCells',
    tests: ['test/store/suspicion.test.ts'],
  },
  {
    id: 'wrong-store-merged',
    breaks: 'an answer for another store is never merged (docs/store-api.md#productdetail, store_id)',
    file: 'src/core/fold-read.ts',
    find: 'if (expected === null || expected === storeId) return true;',
    replace: 'if (expected === null || storeId.length > 0) return true;',
    tests: ['test/core/fold-order.test.ts'],
  },
];
