/** What a read no longer shows (docs/architecture.md#removals). */
import type { Mutant } from '../mutant.ts';

const guard = 'src/core/apply/removal-guard.ts';
const alone = 'src/core/apply/webhooks-alone.ts';

export const REMOVAL: readonly Mutant[] = [
  {
    id: 'removed-at-first-sighting',
    breaks: 'two reads must agree before anything is removed (docs/architecture.md#removals)',
    file: 'src/core/apply/removal.ts',
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
    file: 'src/core/apply/removal.ts',
    find: "  if (isConcurrent(thing, read)) return { kind: 'contested' };",
    replace: '',
  },
  {
    id: 'shown-level-keeps-its-wait',
    breaks:
      'shown by a read beside a delivery, a level has not been missing all along (docs/architecture.md#removals)',
    file: 'src/core/merge/merge-read.ts',
    find: 'return read.superseded ? level.missingAtMs : null;',
    replace: 'return level.missingAtMs;',
    tests: ['test/core/merge/merge-read.test.ts'],
  },
  {
    id: 'earlier-read-ends-the-wait',
    breaks:
      'what a later read missed does not become present by an earlier one (docs/architecture.md#removals)',
    file: 'src/core/merge/merge-read.ts',
    find: 'return read.superseded ? level.missingAtMs : null;',
    replace: 'return null;',
    tests: ['test/core/merge/merge-read.test.ts'],
  },
  {
    id: 'contested-absence-no-request',
    breaks: 'an absence that something newer contradicts asks for a read (docs/architecture.md#removals)',
    file: 'src/core/apply/webhooks-alone.ts',
    find: `    work.tables.putStockLevel(contested);
    work.requestRead(productId, 'conflict');`,
    replace: '    work.tables.putStockLevel(contested);',
    tests: ['test/core/apply/removal.test.ts'],
  },
  {
    id: 'sighting-not-forgotten',
    breaks: 'a product that is shown again was not missing (docs/architecture.md#removals)',
    file: 'src/core/apply/apply-read.ts',
    find: `    readAtMs: read.sentAtMs,
    missingAtMs: null,`,
    replace: `    readAtMs: read.sentAtMs,
    missingAtMs: product.missingAtMs,`,
    first: 'simulation',
  },
  {
    id: 'first-sighting-not-confirmed',
    breaks: 'the first sighting queues the confirming read itself (docs/architecture.md#removals)',
    file: 'src/core/apply/removal.ts',
    find: "  work.requestRead(productId, 'confirm_removal', {",
    replace: "  if (read.s0 < 0) work.requestRead(productId, 'confirm_removal', {",
    first: 'simulation',
  },
  {
    id: 'guard-off',
    breaks: 'more than 5 % and 20 products are not removed at once (docs/architecture.md#mass-removal-guard)',
    file: 'src/core/apply/removal-guard.ts',
    find: 'return atStake > GUARD_ROWS && atStake > before * GUARD_SHARE;',
    replace: 'return atStake > GUARD_ROWS && atStake > before;',
    first: 'simulation',
    tests: ['test/core/merge/removal-guard.test.ts', 'test/core/apply/removal.test.ts'],
  },
  {
    id: 'not-told-is-none',
    breaks: 'an absent `warehouses` means "unknown", never "none" (docs/architecture.md#removals)',
    file: 'src/store-api/snapshot.ts',
    find: 'levels: variant.warehouses === undefined ? null : distinctLevels(',
    replace: 'levels: variant.warehouses === undefined ? [] : distinctLevels(',
    first: 'simulation',
  },
  {
    id: 'removed-level-keeps-gap',
    breaks: 'a tombstone has no re-read request (docs/architecture.md#removals, docs/architecture.md#gaps)',
    file: 'src/core/apply/removal.ts',
    find: 'if (gap.warehouseId === level.warehouseId) tables.deleteGap(gap);',
    replace: "if (gap.warehouseId === '') tables.deleteGap(gap);",
  },
  {
    id: 'missed-lookup-not-confirmed',
    breaks:
      'a variant that no catalogue scan finds is given up after the second one (docs/architecture.md#changes, rule 1)',
    file: 'src/core/apply/removal.ts',
    find: '          lookupAtMs: verdict.confirmAtMs,',
    replace: '          lookupAtMs: null,',
    first: 'simulation',
  },
  {
    id: 'guard-renews-request',
    breaks: 'what the mass-removal guard holds asks for no reads (docs/architecture.md#mass-removal-guard)',
    file: 'src/core/apply/removal-guard.ts',
    find: `      seq: this.#read.s0,
      atMs: missingAtMs ?? this.#read.sentAtMs,
      notBeforeMs: LATEST_MS,`,
    replace: '      notBeforeMs: LATEST_MS,',
    tests: ['test/core/apply/removal.test.ts'],
  },
  {
    id: 'returned-levels-stay-gone',
    breaks:
      'a variant that comes back brings the warehouses that no read tells (docs/architecture.md#variants-that-come-back)',
    file: 'src/core/apply/apply-variant.ts',
    find: 'if (isBack) restoreLevels',
    replace: 'if (isBack && read.s0 < 0) restoreLevels',
    tests: ['test/core/apply/removal.test.ts'],
  },
  {
    id: 'guard-products-only',
    breaks:
      'variants and levels are guarded as products are (docs/architecture.md#mass-removal-guard, per hour and per run)',
    file: guard,
    find: 'holds = isOdd || this.#holdsMany(kind, missing) || this.#holdsRead(kind);',
    replace:
      "holds = isOdd || (kind === 'product' && this.#holdsMany(kind, missing)) || this.#holdsRead(kind);",
    first: 'simulation',
    tests: ['test/core/apply/mass-removal.test.ts'],
  },
  {
    id: 'missing-variant-keeps-number',
    breaks: 'a row that shows a new name has a new number (docs/reading-the-mirror.md#views, change_seq)',
    file: 'src/core/apply/apply-read.ts',
    find: '  if (renamed) renumberAbsent(',
    replace: '  if (renamed && read.s0 < 0) renumberAbsent(',
    tests: ['test/core/apply/mass-removal.test.ts'],
  },
  {
    id: 'guard-not-by-read',
    breaks: 'one read does not empty a product (docs/architecture.md#mass-removal-guard, one read)',
    file: guard,
    find: 'holds = isOdd || this.#holdsMany(kind, missing) || this.#holdsRead(kind);',
    replace: 'holds = isOdd || this.#holdsMany(kind, missing);',
    tests: ['test/core/apply/mass-removal.test.ts'],
  },
  {
    id: 'guard-believes-contradiction',
    breaks: 'stock and no warehouse contradict each other (docs/architecture.md#mass-removal-guard)',
    file: 'src/core/apply/removal.ts',
    find: "level.missingAtMs, contradictsItself(seen) ? 'contradicts itself' : 'plain')",
    replace: "level.missingAtMs, 'plain')",
    tests: ['test/core/apply/mass-removal.test.ts'],
  },
  {
    id: 'guard-closes-no-warehouse',
    breaks: 'the only warehouse of a product may close (docs/architecture.md#mass-removal-guard)',
    file: guard,
    find: 'missing === before && emptied.size > 1',
    replace: 'missing === before && emptied.size > 0',
    tests: ['test/core/apply/mass-removal.test.ts'],
  },
  {
    id: 'guard-counts-levels-of-products',
    breaks: 'what goes with its product counts as that alone (docs/architecture.md#mass-removal-guard)',
    file: 'src/core/apply/removal.ts',
    find: 'if (level.goneAtMs === null) removeLevel(work, level, read);',
    replace: `if (level.goneAtMs === null) {
      removeLevel(work, level, read);
      countRemoval(work, 'cell');
    }`,
    tests: ['test/core/apply/mass-removal.test.ts'],
  },
  {
    id: 'hidden-level-asked-for-ever',
    breaks:
      'a level that no read shows is not read about for ever (docs/architecture.md#levels-that-webhooks-alone-tell)',
    file: alone,
    find: 'unseenReads: removed.unseenReads === 0 ? 1 : CONTESTED_READS,',
    replace: 'unseenReads: 0,',
    first: 'simulation',
    tests: ['test/core/apply/webhooks-alone.test.ts'],
  },
  {
    id: 'contested-level-asked-for-ever',
    breaks:
      'nor where changes come too fast for any read (docs/architecture.md#levels-that-webhooks-alone-tell)',
    file: alone,
    find: 'return { ...level, unseenReads: level.unseenReads + 1 };',
    replace: 'return { ...level, unseenReads: 0 };',
    tests: ['test/core/apply/webhooks-alone.test.ts'],
  },
  {
    id: 'hidden-level-trusted',
    breaks: 'what webhooks alone tell is suspect (docs/architecture.md#levels-that-webhooks-alone-tell)',
    file: 'src/core/apply/webhooks-alone.ts',
    find: 'const suspect: StockLevel = { ...level, unexplainedAtMs: entry.atMs };',
    replace: 'const suspect: StockLevel = level;',
    tests: ['test/core/apply/webhooks-alone.test.ts'],
  },
  {
    id: 'hidden-level-for-ever',
    breaks: 'without webhooks it goes a day later (docs/architecture.md#levels-that-webhooks-alone-tell)',
    file: alone,
    find: 'return read.sentAtMs >= level.eventAtMs + WEBHOOKS_ALONE_MS;',
    replace: 'return read.sentAtMs < level.eventAtMs;',
    tests: ['test/core/apply/webhooks-alone.test.ts'],
  },
  {
    id: 'unread-products-count-as-there',
    breaks:
      'all products that any read has shown do not go at once (docs/architecture.md#mass-removal-guard)',
    file: guard,
    find: "kind === 'product' ? this.#work.tables.shownProductCount(missing + 1) : live.live;",
    replace: 'live.live;',
    tests: ['test/core/apply/removal.test.ts'],
  },
  {
    id: 'busy-level-kept-out',
    breaks:
      'a removed level that a read shows comes back though it never rests (docs/architecture.md#removals)',
    file: 'src/core/apply/tombstone.ts',
    find: 'const isShown = isShownSinceRemoval(level);',
    replace: 'const isShown = isShownSinceRemoval(level) && level.qty < -1;',
    tests: ['test/core/apply/webhooks-alone.test.ts', 'test/core/apply/merge-change.test.ts'],
  },
  {
    id: 'late-change-revives-level',
    breaks:
      'only a change newer than the removal counts (docs/architecture.md#levels-that-webhooks-alone-tell)',
    file: alone,
    find: 'return !futureDated && !ahead && change.updateTimeMs > removed.readHiMs;',
    replace: 'return !futureDated && !ahead;',
    tests: ['test/core/apply/webhooks-alone.test.ts', 'test/core/apply/merge-change.test.ts'],
  },
  {
    id: 'told-twice-taken',
    breaks:
      'two figures for one level settle nothing (docs/architecture.md#details-that-contradict-themselves)',
    file: 'src/store-api/snapshot.ts',
    find: 'first.availableQty === again.availableQty ? first : { ...first, isContradictory: true },',
    replace: '({ ...first, availableQty: again.availableQty }),',
    first: 'simulation',
    tests: ['test/store-api/snapshot.test.ts'],
  },
  {
    id: 'told-twice-read-for-ever',
    breaks:
      'a contradiction is read about once more, then by the schedule (docs/architecture.md#details-that-contradict-themselves)',
    file: 'src/core/apply/contradiction.ts',
    find: '  if (!isNews) return;',
    replace: '',
    tests: ['test/core/apply/webhooks-alone.test.ts'],
  },
  {
    id: 'moved-variant-not-searched',
    breaks:
      'a removed variant that a newer change names is searched for (docs/architecture.md#variants-that-move)',
    file: 'src/core/apply/tombstone.ts',
    find: '  return isNewerThanRemoval({ readHiMs }, change, stamp);',
    replace: '  return isNewerThanRemoval({ readHiMs }, change, stamp) && readHiMs < 0;',
    first: 'simulation',
    tests: ['test/core/apply/moved-variant.test.ts'],
  },
  {
    id: 'moved-variant-read-in-vain',
    breaks:
      'while it is searched for, its old product is left alone (docs/architecture.md#variants-that-move)',
    file: 'src/core/apply/tombstone.ts',
    find: 'return goneAtMs !== null && productId !== null && lookupAtMs !== null;',
    replace: 'return goneAtMs !== null && productId !== null && lookupAtMs === 0;',
    tests: ['test/core/apply/moved-variant.test.ts'],
  },
  {
    id: 'earlier-product-takes-variant',
    breaks: 'a variant belongs to the answer that was sent later (docs/architecture.md#variants-that-move)',
    file: 'src/core/apply/apply-variant.ts',
    find: 'const isLater = !isShownThere || other === undefined || read.sentAtMs >= other.readAtMs;',
    replace: 'const isLater = read.s0 >= 0 || isShownThere;',
    tests: ['test/core/apply/moved-variant.test.ts'],
  },
  {
    id: 'shown-by-two-asked-for-ever',
    breaks:
      'two products that list one variant are not read for ever (docs/architecture.md#variants-that-move)',
    file: 'src/core/apply/apply-variant.ts',
    find: "  if (overlaps) work.requestRead(loser, 'conflict');",
    replace: `  if (overlaps) work.requestRead(loser, 'conflict');
  if (overlaps) work.requestRead(winner, 'conflict');`,
    tests: ['test/core/apply/moved-variant.test.ts'],
  },
  {
    id: 'searched-for-and-certain',
    breaks: 'what is searched for is suspect meanwhile (docs/architecture.md#variants-that-move)',
    file: 'src/core/apply/removal.ts',
    find: '  suspectLevels(work, variant.variantId);',
    replace: '',
    tests: ['test/core/apply/moved-variant.test.ts'],
  },
];
