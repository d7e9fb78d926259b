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
    id: 'close-reads-no-obligation',
    breaks:
      'of two reads that differ within the replicas’ lag, neither is known to be the later (docs/architecture.md#reads)',
    file,
    find: 'oblige: drift && cell.verifiedAtMs !== null && read.loMs <= cell.readHiMs,',
    replace: 'oblige: false,',
    tests: ['test/core/merge-read.test.ts'],
  },
  {
    id: 'close-totals-no-obligation',
    breaks: 'the same of a total that no warehouse explains (docs/architecture.md#totals)',
    file: 'src/core/fold-variant.ts',
    find: 'if (seen.levels === null && oldQty !== newQty && soonAfter)',
    replace: 'if (false)',
    tests: ['test/core/fold-total.test.ts'],
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
    find: `    readLoMs: Math.max(cell.readLoMs, read.loMs),
    readHiMs: Math.max(cell.readLoMs, read.hiMs),
    verifiedAtMs: read.sentAtMs,`,
    replace: `    readLoMs: read.loMs,
    readHiMs: read.hiMs,
    verifiedAtMs: read.sentAtMs,`,
    first: 'simulation',
  },
  {
    id: 'read-window-not-set',
    breaks: 'a read sets the window of what it saw (docs/architecture.md#reads)',
    file,
    find: `    readLoMs: Math.max(cell.readLoMs, read.loMs),
    readHiMs: Math.max(cell.readLoMs, read.hiMs),
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
    find: '  if (concurrent && oldQty !== newQty) {',
    replace: '  if (concurrent && oldQty !== newQty && read.s0 < 0) {',
  },
  {
    id: 'read-overwrites-later-total',
    breaks: 'a read never overwrites a total that moved after it was sent (docs/architecture.md#totals)',
    file: 'src/core/fold-variant.ts',
    find: '(concurrent && oldQty !== null && oldQty !== newQty)) return variant;',
    replace: 'false) return variant;',
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
    find: 'if (seen.levels === null && !isTrusted) suspectCells',
    replace: 'if (seen.levels === null && !isTrusted && read.s0 < 0) suspectCells',
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
