/** Random histories of a small mirror. */
import fc from 'fast-check';
import type { NewInput } from '../../src/mirror/writer/applier.ts';
import { delivery, detail, item, readInput, T0, type DirectWriter } from './mirror-file.ts';
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

export const history: fc.Arbitrary<Planned[]> = fc.array(
  fc.record({ afterMs: fc.constantFrom(10, 3_000, 40_000, 40_000), step }),
  { maxLength: 25, size: 'max' },
);

export function play(
  writer: DirectWriter,
  plan: readonly Planned[],
  each: (n: number) => void = () => undefined,
): number {
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
    each(n);
  }
  return atMs;
}
