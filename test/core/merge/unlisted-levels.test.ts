import { expect, test } from 'vitest';
import { quantitiesOf } from '../../../src/core/merge/unlisted-levels.ts';
import type { StockLevel, Variant } from '../../../src/core/model.ts';
import { stockLevel, T0 } from '../builders.ts';
import { variant } from './judge-one-change.ts';

const first = stockLevel();
const second = stockLevel({ warehouseId: '2' });
const removed = (level: StockLevel): StockLevel => ({ ...level, goneAtMs: T0 });

test.each<[what: string, of: Partial<Variant>, levels: readonly StockLevel[], quantities: number]>([
  ['each of its levels', {}, [first, second], 2],
  ['each level that is not removed', {}, [first, removed(second)], 1],
  ['its total, if it has no levels', {}, [], 1],
  ['its total, if all of its levels are removed', {}, [removed(first), removed(second)], 1],
  ['nothing, if it has neither levels nor a total', { availableQty: null }, [], 0],
  ['its total, if its kind has no warehouses', { kind: 'bundle' }, [first, second], 1],
  ['its total, if the last read showed no warehouses', { totalHiMs: T0 }, [first, second], 1],
])('a variant is sold by %s', (_, of, levels, quantities) => {
  expect(quantitiesOf(variant(of), levels)).toBe(quantities);
});
