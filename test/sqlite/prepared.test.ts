import { expect, test } from 'vitest';
import { plannedOnce, prepareRows } from '../../src/sqlite/prepared.ts';
import { writerDb } from '../mirror/mirror-file.ts';

test('hides every parameter from the planner', () => {
  expect(plannedOnce('SELECT a FROM t WHERE b = ? AND c IN (?, ?2) AND d < @dMs LIMIT @limit')).toBe(
    'SELECT a FROM t WHERE b = +? AND c IN (+?, +?2) AND d < +@dMs LIMIT +@limit',
  );
});

test('keeps the types of values', () => {
  const db = writerDb();
  const types = db.prepare<unknown[], string>(plannedOnce('SELECT typeof(?)')).pluck();
  const values: [unknown, string][] = [
    ['7', 'text'],
    [7n, 'integer'],
    [0.5, 'real'],
    [Buffer.from('7'), 'blob'],
    [null, 'null'],
  ];
  for (const [value, type] of values) expect(types.get(value)).toBe(type);
});

test('refuses a column that the table lacks', () => {
  const db = writerDb();
  const epoch = (expression: string) =>
    prepareRows<[], { readonly epoch: string }>(
      db,
      { epoch: expression },
      (columns) => `SELECT ${columns} FROM service_state`,
    );
  expect(epoch('epoch').columns()).toMatchObject([{ name: 'epoch', column: 'epoch' }]);
  expect(() => epoch('epoc')).toThrow('no such column: epoc');
});
