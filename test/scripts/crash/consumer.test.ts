import { expect, test } from 'vitest';
import { Consumer, type Change } from '../../../scripts/crash/consumer.ts';

function change(seq: number, old_qty: number | null, new_qty: number | null): Change {
  return { seq, variant_id: '7001', warehouse_id: '11', old_qty, new_qty };
}

function problemsOf(...changes: Change[]): string[] {
  const consumer = new Consumer('no file');
  consumer.take(changes);
  return consumer.problems;
}

test('accepts a chain of changes, also through a removal', () => {
  expect(problemsOf(change(1, null, 5), change(4, 5, 3), change(5, 3, null), change(9, null, 2))).toEqual([]);
});

test('reports a change that was missed', () => {
  expect(problemsOf(change(1, null, 5), change(3, 4, 3))).toEqual([
    'change 3 of 7001/11 begins at 4, the consumer holds 5',
  ]);
});

test('reports a change that comes twice', () => {
  expect(problemsOf(change(1, null, 5), change(1, 5, 5))).toEqual(['change 1 came after change 1']);
});
