/** Statements that are asked again and again are planned once. */
import { expect, test } from 'vitest';
import { plannedOnce } from '../../src/sqlite/prepared.ts';
import { writerDb } from '../mirror/mirror-file.ts';

test('every parameter is hidden from the planner, and nothing else is changed', () => {
  expect(plannedOnce('SELECT a FROM t WHERE b = ? AND c IN (?, ?2) AND d < @dMs LIMIT @limit')).toBe(
    'SELECT a FROM t WHERE b = +? AND c IN (+?, +?2) AND d < +@dMs LIMIT +@limit',
  );
});

test('what is not hidden is planned again for each value: when this fails, SQLite has no need of it any more', () => {
  const db = writerDb();
  const sql = 'SELECT * FROM gaps WHERE variant_id = ? ORDER BY warehouse_id, opened_seq';
  const fastest = (text: string): number => {
    const statement = db.prepare<[string]>(text);
    return Math.min(
      ...Array.from({ length: 10 }, () => {
        const startedMs = performance.now();
        for (let i = 0; i < 1_000; i += 1) statement.all(String(i));
        return performance.now() - startedMs;
      }),
    );
  };
  expect(fastest(plannedOnce(sql))).toBeLessThan(0.75 * fastest(sql));
});

test('values keep their types', () => {
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
