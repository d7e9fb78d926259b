/** Costs of SQL queries on the trusted view, and of computing the trust of all rows, in a large mirror. */
import { join } from 'node:path';
import { ms, type Bench, type Row } from './question.ts';
import { measureReaders } from './sql-readers.ts';

export function readers(bench: Bench): Promise<Row> {
  const levels = bench.quick ? 1_000_000 : 10_000_000;
  const { ratios, trustMs, queriesMs } = measureReaders(join(bench.folder, 'readers.db'), levels);
  const ratioOf = ({ key, SKU, number, page }: typeof ratios): string =>
    [key, SKU, number, page].map((ratio) => ratio.toFixed(2)).join(', ');
  const [slowest] = Object.entries(queriesMs).sort(([, a], [, b]) => b - a);
  const doubtful = Math.max(trustMs.none, trustMs.some, trustMs.many);
  return Promise.resolve({
    question: 'h',
    what: `mirror_sellable against mirror_stock with ${levels / 1e6} M levels: by key, SKU, number and page; trust`,
    result: `${ratioOf(ratios)}; ${ms(doubtful)}, all suspect ${ms(trustMs.all)}; slowest query ${ms(slowest?.[1] ?? 0)} (${slowest?.[0]})`,
    target: '≤ 1.5; ≤ 5 ms',
    met: Math.max(...Object.values(ratios)) <= 1.5 && doubtful <= 5,
    fails: false,
    values: { levels, ...ratios, ...trustMs, ...queriesMs },
  });
}
