import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  MISSED_WHYS,
  type Input,
  type ProductSnapshot,
  type StockChange,
  type Unreadable,
  type VariantSnapshot,
} from '../../../src/core/input.ts';
import { applyInput } from '../../../src/core/apply/apply-input.ts';
import type { Fact } from '../../../src/core/apply/fact.ts';
import { EARLIEST_MS } from '../../../src/core/limits.ts';
import { FORGET_UNREQUESTED, prepareFailure } from '../../../src/mirror/writer/failures.ts';
import { SqliteTables } from '../../../src/mirror/writer/sqlite-tables.ts';
import { COUNTED, OF_FAILURES } from '../../../src/mirror/writer/table-statements.ts';
import { columnsOf, type RowIn, type TableName } from '../../../src/mirror/file/statements.ts';
import { prepareRows } from '../../../src/sqlite/prepared.ts';
import { MemoryTables } from '../../core/memory-tables.ts';
import { T0, writerDb } from '../mirror-file.ts';

const productIds = fc.constantFrom('10', '11', '12', '9');
const variantIds = fc.constantFrom('100', '101', '102', '110', '90');
const warehouseIds = fc.constantFrom('1', '2');
const texts = fc.oneof(fc.constantFrom('', 'a', 'เสื้อ'), fc.string({ unit: 'binary', maxLength: 6 }));
const quantities = fc.oneof(fc.integer({ min: -3, max: 6 }), fc.integer({ min: -(2 ** 45), max: 2 ** 45 }));
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });

const stockChange: fc.Arbitrary<StockChange> = fc.record({
  variantId: variantIds,
  warehouseId: warehouseIds,
  sku: maybe(texts),
  old: quantities,
  new: quantities,
  updateTimeMs: fc.oneof(
    fc.integer({ min: T0 - 5_000, max: T0 + 60_000 }),
    fc.constantFrom(T0, T0 + 1_000, T0 + 10 ** 9, Number.MAX_SAFE_INTEGER),
  ),
  reason: maybe(texts),
  orderId: maybe(fc.constant('9')),
  userId: maybe(fc.constant('4')),
});

const unreadable: fc.Arbitrary<Unreadable> = fc.record({
  itemIndex: maybe(fc.nat(5)),
  problem: texts,
  variantId: maybe(variantIds),
});

const variantSnapshot: fc.Arbitrary<VariantSnapshot> = fc.record({
  variantId: variantIds,
  name: texts,
  sku: maybe(texts),
  upc: maybe(texts),
  kind: fc.constantFrom('own', 'own', 'pulled', 'bundle', 'assembled'),
  createTimeMs: maybe(fc.nat(10_000)),
  availableQty: quantities,
  onHand: maybe(quantities),
  reservedQty: maybe(quantities),
  allowNegativeStock: fc.boolean(),
  priceJson: maybe(texts),
  cost: maybe(fc.constantFrom('1', '2.50')),
  bundledByCount: fc.nat(1),
  levels: maybe(
    fc.uniqueArray(
      fc.record({
        warehouseId: warehouseIds,
        availableQty: quantities,
        onHand: quantities,
        reservedQty: quantities,
      }),
      { maxLength: 2, selector: (level) => level.warehouseId },
    ),
  ),
});

const snapshot: fc.Arbitrary<ProductSnapshot> = fc.record({
  storeId: fc.constantFrom('1', '1', '1', '2'),
  name: texts,
  parentId: maybe(fc.constant('77')),
  updateTimeMs: maybe(fc.constant(T0)),
  detailJson: fc.constantFrom('{}', '{"a":1}'),
  variants: fc.uniqueArray(variantSnapshot, { minLength: 1, maxLength: 3, selector: (v) => v.variantId }),
});

/** Without the sequence number and the instant. */
const step = fc.oneof(
  fc.record({
    kind: fc.constant('delivery' as const),
    requestId: maybe(texts),
    changes: fc.array(stockChange, { maxLength: 4 }),
    unreadable: fc.oneof(fc.constant([]), fc.array(unreadable, { maxLength: 2 })),
  }),
  fc.record({
    kind: fc.constant('read' as const),
    productId: productIds,
    tookMs: fc.constantFrom(0, 10, 5_000),
    dated: fc.boolean(),
    snapshot: maybe(snapshot),
  }),
  fc.record({ kind: fc.constant('listed' as const), productIds: fc.array(productIds), lookup: fc.boolean() }),
  fc.record({ kind: fc.constant('list_completed' as const) }),
  fc.record({
    kind: fc.constant('request_reads' as const),
    reason: fc.constantFrom('operator' as const, 'not_stored' as const, 'bundle' as const),
    productIds: fc.array(productIds),
    variantIds: fc.array(variantIds),
  }),
  fc.record({ kind: fc.constant('bundles_due' as const) }),
  fc.record({
    kind: fc.constant('missed' as const),
    why: fc.constantFrom(...MISSED_WHYS),
    sinceMs: maybe(fc.constant(T0)),
    untilMs: fc.constant(T0),
    variantIds: maybe(fc.array(variantIds)),
  }),
  fc.record({
    kind: fc.constant('lookup_missed' as const),
    variantIds: fc.array(variantIds),
  }),
  fc.record({
    kind: fc.constant('allow_removals' as const),
    productIds: maybe(fc.array(productIds)),
    by: texts,
    reason: texts,
    runId: fc.constant(0),
  }),
);

/** A read that fails before the step. */
const failure = fc.record({ productId: productIds, priority: fc.constantFrom(0, 1, 4) });

const steps = fc.array(
  fc.record({ afterMs: fc.constantFrom(0, 1, 2_500, 31_000), step, failure: maybe(failure) }),
  { maxLength: 25 },
);

function inputsOf(
  plan: readonly { afterMs: number; step: typeof step extends fc.Arbitrary<infer S> ? S : never }[],
) {
  let atMs = T0;
  return plan.map(({ afterMs, step: planned }, i): Input => {
    atMs += afterMs;
    if (planned.kind === 'read') {
      const { tookMs, dated, ...rest } = planned;
      const sentAtMs = atMs - tookMs;
      const serverDateMs = dated ? Math.floor(sentAtMs / 1_000) * 1_000 : null;
      return { ...rest, atMs, sentAtMs, receivedAtMs: atMs, serverDateMs, requestId: null, claims: [] };
    }
    if (planned.kind === 'lookup_missed' || planned.kind === 'listed' || planned.kind === 'list_completed') {
      return { ...planned, atMs, sentAtMs: atMs };
    }
    return planned.kind === 'delivery'
      ? { ...planned, atMs, inboxSeq: i + 1, isTest: i % 5 === 4 }
      : { ...planned, atMs };
  });
}

const answers = (tables: MemoryTables | SqliteTables) => ({
  bundles: tables.bundleProducts(),
  bundleCount: tables.bundleProductCount(),
  held: tables.heldProducts(),
  missingProducts: tables.missingProducts(),
  quantities: tables.quantityCount(),
  missing: [1, 3, 200].map((atMost) => tables.missingQuantities(atMost)),
  levels: ['100', '90'].map((id) => tables.stockLevelsOf(id)),
  variants: ['10', '9'].map((id) => tables.variantsOf(id)),
  gaps: ['100', '90'].map((id) => tables.gapsOf(id)),
  product: tables.product('10'),
  level: tables.stockLevel('100', '1'),
  variant: tables.variant('none'),
  readRequest: tables.readRequest('10'),
});

const flag = (value: unknown): boolean => value === 1;

const failed = { attempts: 1, faults: 1, retryAtMs: 0, parked: false, isGivenUp: false, error: 'x' };

test('SQLite and in-memory tables agree after any inputs, whichever reads fail', () => {
  const db = writerDb();
  db.prepare(`UPDATE mirror_state SET trusted_after_ms = ?, way_in = 'unproven'`).run(EARLIEST_MS);
  const sqlite = new SqliteTables(db);
  const fail = prepareFailure(db);
  fc.assert(
    fc.property(steps, (plan) => {
      const memory = new MemoryTables();
      const reported: [Fact[], Fact[]] = [[], []];
      db.exec('BEGIN');
      try {
        for (const [i, input] of inputsOf(plan).entries()) {
          const failing = plan[i]?.failure ?? null;
          if (failing !== null) fail({ ...failed, ...failing, atMs: input.atMs });
          applyInput(memory, input, (fact) => reported[0].push(fact));
          applyInput(sqlite, input, (fact) => reported[1].push(fact));
          expect(answers(sqlite)).toEqual(answers(memory));
        }
        sqlite.flush();
        expect(reported[1]).toEqual(reported[0]);
        db.exec(FORGET_UNREQUESTED);
        const all = <Name extends TableName>(
          table: Name,
          order: string,
          without: readonly (keyof RowIn<Name>)[] = [],
        ) =>
          prepareRows<[], Record<string, unknown>>(
            db,
            columnsOf(db, table, without),
            (columns) => `SELECT ${columns} FROM ${table} ORDER BY ${order}`,
          ).all();
        const sorted = <T>(found: ReadonlyMap<string, T>, key: (value: T) => (string | number)[]) =>
          [...found.values()].sort((a, b) => (JSON.stringify(key(a)) < JSON.stringify(key(b)) ? -1 : 1));
        expect(all('stock_levels', 'variant_id, warehouse_id')).toEqual(
          sorted(memory.levels, (level) => [level.variantId, level.warehouseId]),
        );
        expect(
          all('variants', 'variant_id', COUNTED).map((row) => ({
            ...row,
            allowNegativeStock: flag(row['allowNegativeStock']),
          })),
        ).toEqual(sorted(memory.variants, (variant) => [variant.variantId]));
        for (const product of memory.products.values()) {
          expect(sqlite.product(product.productId)).toEqual(product);
        }
        expect(all('products', 'product_id')).toHaveLength(memory.products.size);
        expect(
          all('due_reads', 'product_id', OF_FAILURES).map((row) => ({
            ...row,
            isSuspect: flag(row['isSuspect']),
          })),
        ).toEqual(sorted(memory.readRequests, (readRequest) => [readRequest.productId]));
        expect(all('gaps', 'inbox_seq, variant_id, warehouse_id')).toEqual(
          sorted(memory.gaps, (gap) => [gap.inboxSeq + 1_000, gap.variantId, gap.warehouseId]),
        );
        expect(all('changes', 'seq')).toEqual(memory.changes);
        expect(all('dead_letters', 'id').map(({ id: _, ...row }) => row)).toEqual(
          memory.deadLetters.map(({ unreadable: { itemIndex, problem, variantId }, ...delivery }) => ({
            ...delivery,
            itemIndex,
            problem,
            variantId,
          })),
        );
        sqlite.reload();
        expect(sqlite.state()).toEqual(memory.state());
      } finally {
        // The next history begins with empty tables.
        db.exec('ROLLBACK');
        sqlite.reload();
      }
    }),
    { numRuns: 150 },
  );
});
