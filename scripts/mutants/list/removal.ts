/** What a read no longer shows (docs/architecture.md#removals). */
import type { Mutant } from '../mutant.ts';

const absence = 'src/core/fold-absence.ts';

export const REMOVAL: readonly Mutant[] = [
  {
    id: 'removed-at-first-sighting',
    breaks: 'two reads must agree before anything is removed (docs/architecture.md#removals)',
    file: 'src/core/merge-read.ts',
    find: '  const missingAtMs = thing.missingAtMs ?? read.sentAtMs;',
    replace: '  const missingAtMs = thing.missingAtMs ?? read.sentAtMs - REMOVAL_CONFIRM_MS;',
    first: 'simulation',
  },
  {
    id: 'removed-too-soon',
    breaks: 'the two reads are at least 30 s apart (docs/architecture.md#removals)',
    file: 'src/core/limits.ts',
    find: 'export const REMOVAL_CONFIRM_MS = 30_000;',
    replace: 'export const REMOVAL_CONFIRM_MS = 3_000;',
    first: 'simulation',
  },
  {
    id: 'removed-by-concurrent-read',
    breaks: 'a concurrent read removes nothing (docs/architecture.md#removals)',
    file: 'src/core/merge-read.ts',
    find: "  if (isConcurrent(thing, read)) return { kind: 'contested' };",
    replace: '',
  },
  {
    id: 'shown-level-keeps-its-wait',
    breaks:
      'shown by a read beside a delivery, a level has not been missing all along (docs/architecture.md#removals)',
    file: 'src/core/merge-read.ts',
    find: 'return read.superseded ? cell.missingAtMs : null;',
    replace: 'return cell.missingAtMs;',
    tests: ['test/core/merge-read.test.ts'],
  },
  {
    id: 'earlier-read-ends-the-wait',
    breaks:
      'what a later read missed does not become present by an earlier one (docs/architecture.md#removals)',
    file: 'src/core/merge-read.ts',
    find: 'return read.superseded ? cell.missingAtMs : null;',
    replace: 'return null;',
    tests: ['test/core/merge-read.test.ts'],
  },
  {
    id: 'contested-absence-no-obligation',
    breaks: 'an absence that something newer contradicts asks for a read (docs/architecture.md#removals)',
    file: absence,
    find: `        ledger.report({ kind: 'contested', what: 'cell', id });
        ledger.oblige(productId, 'conflict');`,
    replace: `        ledger.report({ kind: 'contested', what: 'cell', id });`,
    tests: ['test/core/fold-removal.test.ts'],
  },
  {
    id: 'sighting-not-forgotten',
    breaks: 'a product that is shown again was not missing (docs/architecture.md#removals)',
    file: 'src/core/fold-read.ts',
    find: `    readAtMs: read.sentAtMs,
    missingAtMs: null,`,
    replace: `    readAtMs: read.sentAtMs,
    missingAtMs: product.missingAtMs,`,
    first: 'simulation',
  },
  {
    id: 'first-sighting-not-confirmed',
    breaks: 'the first sighting queues the confirming read itself (docs/architecture.md#removals)',
    file: 'src/core/ledger.ts',
    find: "    this.oblige(productId, 'confirm_removal', {",
    replace: "    if (read.s0 < 0) this.oblige(productId, 'confirm_removal', {",
    first: 'simulation',
  },
  {
    id: 'brake-off',
    breaks: 'more than 5 % and 20 products are not removed at once (docs/architecture.md#mass-removal-guard)',
    file: 'src/core/removal-brake.ts',
    find: 'return atStake > BRAKE_PRODUCTS && atStake > before * BRAKE_SHARE;',
    replace: 'return atStake > BRAKE_PRODUCTS && atStake > before;',
    first: 'simulation',
    tests: ['test/core/removal-brake.test.ts', 'test/core/fold-removal.test.ts'],
  },
  {
    id: 'not-told-is-none',
    breaks: 'an absent `warehouses` means "unknown", never "none" (docs/architecture.md#removals)',
    file: 'src/service/snapshot.ts',
    find: 'levels: variant.warehouses?.map(levelSnapshot) ?? null,',
    replace: 'levels: variant.warehouses?.map(levelSnapshot) ?? [],',
    first: 'simulation',
  },
  {
    id: 'removed-cell-keeps-gap',
    breaks: 'a tombstone has no re-read request (docs/architecture.md#removals, docs/architecture.md#gaps)',
    file: absence,
    find: 'if (gap.warehouseId === cell.warehouseId) tables.deleteGap(gap);',
    replace: "if (gap.warehouseId === '') tables.deleteGap(gap);",
  },
  {
    id: 'missed-lookup-not-confirmed',
    breaks:
      'a variant that no catalogue scan finds is given up after the second one (docs/architecture.md#changes, rule 1)',
    file: 'src/core/fold.ts',
    find: '          lookupAtMs: verdict.confirmAtMs,',
    replace: '          lookupAtMs: null,',
    first: 'simulation',
  },
  {
    id: 'brake-renews-doubt',
    breaks: 'what the mass-removal guard holds asks for no reads (docs/architecture.md#mass-removal-guard)',
    file: 'src/core/fold-absence.ts',
    find: `    seq: read.s0,
    atMs: product.missingAtMs ?? read.sentAtMs,
    notBeforeMs: LATEST_MS,`,
    replace: '    notBeforeMs: LATEST_MS,',
    tests: ['test/core/fold-removal.test.ts'],
  },
  {
    id: 'returned-cells-stay-gone',
    breaks:
      'a variant that comes back brings the warehouses that no read tells (docs/architecture.md#variants-that-come-back)',
    file: 'src/core/fold-variant.ts',
    find: 'if (isBack) restoreCells',
    replace: 'if (isBack && read.s0 < 0) restoreCells',
    tests: ['test/core/fold-removal.test.ts'],
  },
];
