/** Random histories of a small mirror. */
import Database from 'better-sqlite3';
import fc from 'fast-check';
import type { NewInput } from '../../src/mirror/writer/applier.ts';
import { delivery, detail, DirectWriter, item, readInput, T0 } from './mirror-file.ts';
import { missedAt } from '../core/builders.ts';

const productIds = fc.constantFrom('10', '11');
const variantIds = fc.constantFrom('100', '101', '110');
const warehouseIds = fc.constantFrom('1', '2');
const quantity = fc.integer({ min: 0, max: 3 });
const levels = fc.dictionary(warehouseIds, quantity, { maxKeys: 3 });
const variants = fc.uniqueArray(fc.record({ id: variantIds, levels: fc.option(levels, { nil: null }) }), {
  minLength: 1,
  maxLength: 3,
  selector: ({ id }) => id,
});

type Step =
  | {
      readonly kind: 'deliver';
      readonly id: string;
      readonly warehouse: string;
      readonly qty: [number, number];
    }
  | {
      readonly kind: 'read';
      readonly productId: string;
      readonly variants: Parameters<typeof detail>[1] | null;
    }
  | { readonly kind: 'remove'; readonly productId: string }
  | { readonly kind: 'append'; readonly input: (atMs: number) => NewInput };

const deliver = fc.record({
  kind: fc.constant('deliver' as const),
  id: variantIds,
  warehouse: warehouseIds,
  qty: fc.tuple(quantity, quantity),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  deliver,
  deliver,
  deliver,
  ...[variants, variants, fc.constant(null)].map((found) =>
    fc.record({ kind: fc.constant('read' as const), productId: productIds, variants: found }),
  ),
  fc.record({ kind: fc.constant('remove' as const), productId: productIds }),
  fc.record({
    kind: fc.constant('append' as const),
    input: fc.oneof(
      fc
        .record({ productIds: fc.array(productIds), isSuspect: fc.boolean() })
        .map((made) => (atMs: number) => {
          const reason = made.isSuspect ? ('not_stored' as const) : ('listed' as const);
          return {
            kind: 'request_reads' as const,
            atMs,
            reason,
            productIds: made.productIds,
            variantIds: [],
          };
        }),
      fc.constant((atMs: number) => missedAt(atMs)),
      fc.constant((atMs: number) => ({
        kind: 'allow_removals' as const,
        productIds: null,
        by: 'Ana',
        reason: 'test',
        runId: 0,
        atMs,
      })),
      fc.array(productIds, { minLength: 1 }).map((listed) => (atMs: number) => ({
        kind: 'listed' as const,
        atMs,
        sentAtMs: atMs,
        productIds: listed,
        lookup: false,
      })),
    ),
  }),
);

interface Planned {
  readonly afterMs: number;
  readonly step: Step;
}

const history: fc.Arbitrary<Planned[]> = fc.array(
  fc.record({ afterMs: fc.constantFrom(10, 3_000, 40_000, 40_000), step }),
  { maxLength: 25, size: 'max' },
);

function play(writer: DirectWriter, plan: readonly Planned[], each: () => void): number {
  let atMs = T0;
  for (const [n, { afterMs, step: now }] of plan.entries()) {
    atMs += afterMs;
    if (now.kind === 'deliver') {
      const [old, qty] = now.qty;
      const { id, warehouse } = now;
      const change = item({ id, warehouse_id: warehouse, old, new: qty, update_time: atMs });
      writer.deliver(delivery(`r${n}`, change, ...(qty === 0 ? [item({ id: 'odd' })] : [])), atMs);
    } else if (now.kind === 'read') {
      const found = now.variants === null ? null : detail(now.productId, now.variants);
      writer.append(readInput(now.productId, found, { sentAtMs: atMs }));
    } else if (now.kind === 'remove') {
      writer.remove(now.productId, (atMs += 40_000));
      atMs += 40_000;
    } else writer.append(now.input(atMs));
    if (n % 7 === 3) {
      writer.beginRun({ run: 'operator', atMs, readAfterMs: atMs });
    }
    each();
  }
  return atMs;
}

/**
 * Gives `use` an empty mirror in memory for each of `numRuns` histories.
 * @param use gets `played`, which plays the history, calls back after each step, and returns the time of the last one.
 */
export function afterAnyHistory(
  numRuns: number,
  use: (writer: DirectWriter, played: (each: () => void) => number) => void,
): void {
  const made = new DirectWriter();
  const [template, inboxTemplate] = [made.db, made.writer.inboxDb].map((db) => {
    // Bytes 18 and 19 of the header: a copy in memory has no write-ahead log.
    return db.serialize().fill(1, 18, 20);
  });
  fc.assert(
    fc.property(history, (plan) => {
      const inboxDb = new Database(inboxTemplate);
      const writer = new DirectWriter(new Database(template), inboxDb);
      use(writer, (each) => play(writer, plan, each));
      writer.db.close();
      inboxDb.close();
    }),
    { numRuns },
  );
}
