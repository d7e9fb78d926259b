/** Processor time that trust adds to SQL queries, and that queries of the program need, in a large mirror. */
import { findStock, stockFacets } from '../../src/mirror/queries/page/stock.ts';
import { stockRows } from '../../src/mirror/queries/stock.ts';
import { trust } from '../../src/mirror/queries/trust.ts';
import { openReader, type Db } from '../../src/sqlite/open.ts';
import { beat, createLargeMirror, productId, skuOf, variantId, variantsOf } from './large-mirror.ts';

const SHAPES = ['key', 'SKU', 'number', 'page'] as const;

type Shape = (typeof SHAPES)[number];

interface Measured {
  /** Processor time of `mirror_sellable` divided by that of `mirror_stock`. */
  readonly ratios: Readonly<Record<Shape, number>>;
  readonly stockUs: Readonly<Record<Shape, number>>;
  /** Trust of all rows: with no suspect row, with 100 products to be read, with 2,000, and while all are suspect. */
  readonly trustMs: Readonly<Record<'none' | 'some' | 'many' | 'all', number>>;
  /** Each in one call. */
  readonly queriesMs: Readonly<Record<keyof typeof LONGEST, number>>;
}

/** The queries of the program that examine most rows. */
const LONGEST = {
  'stockRows of an unknown warehouse': (db: Db) =>
    stockRows(db, { after: { variantId: '', warehouseId: '' }, limit: 1_000, warehouseId: 'none' }),
  'findStock without a hit': (db: Db) =>
    findStock(db, {
      text: 'none',
      warehouseId: null,
      suspect: false,
      empty: true,
      order: { by: 'sku', isFalling: false },
      after: null,
      before: null,
      limit: 50,
    }),
  stockFacets: (db: Db) => stockFacets(db),
} satisfies Readonly<Record<string, (db: Db) => unknown>>;

const CONDITIONS: Readonly<Record<Shape, string>> = {
  key: 'variant_id = +? AND warehouse_id = +?',
  SKU: 'sku = +?',
  number: 'change_seq > +? ORDER BY change_seq LIMIT 1000',
  page: 'variant_id >= +? ORDER BY variant_id, warehouse_id LIMIT 1000',
};
const ROUNDS = 5;
const PER_ROUND: Readonly<Record<Shape, number>> = { key: 2_000, SKU: 2_000, number: 20, page: 20 };
const TRUST_ROUNDS = 20;

export function measureReaders(path: string, levels: number): Measured {
  const writer = createLargeMirror(path, levels);
  const reader = openReader(path);
  try {
    // Spread over the whole file.
    const args = (shape: Shape, i: number): readonly unknown[] => {
      const variant = (i * 7_919) % variantsOf(levels);
      if (shape === 'key') return [variantId(variant), '702'];
      if (shape === 'page') return [variantId(variant)];
      if (shape === 'SKU') return [skuOf(variant)];
      return [(i * 7_919_000) % (levels - 1_000)];
    };
    const timeUs = (view: string, shape: Shape): number => {
      // Otherwise this library's SQLite plans again for each value, which takes longer than the query.
      const query = reader.prepare(`SELECT * FROM ${view} WHERE ${CONDITIONS[shape]}`);
      if (query.all(...args(shape, 1)).length === 0) throw new Error(`${view} by ${shape}: no row`);
      const used = process.cpuUsage();
      for (let i = 0; i < PER_ROUND[shape]; i += 1) query.all(...args(shape, i));
      return processorUs(used) / PER_ROUND[shape];
    };
    const ratios = { key: 0, SKU: 0, number: 0, page: 0 };
    const stockUs = { key: 0, SKU: 0, number: 0, page: 0 };
    for (const shape of SHAPES) {
      const rounds: { readonly stock: number; readonly ratio: number }[] = [];
      // The first round warms up.
      for (let round = 0; round <= ROUNDS; round += 1) {
        beat(writer);
        const stock = timeUs('mirror_stock', shape);
        const sellable = timeUs('mirror_sellable', shape);
        if (round > 0) rounds.push({ stock, ratio: sellable / stock });
      }
      ratios[shape] = median(rounds.map(({ ratio }) => ratio));
      stockUs[shape] = median(rounds.map(({ stock }) => stock));
    }
    const queriesMs = measureQueries(reader);
    return { ratios, stockUs, trustMs: measureTrust(writer, reader), queriesMs };
  } finally {
    reader.close();
    writer.close();
  }
}

function measureQueries(reader: Db): Measured['queriesMs'] {
  const measured = Object.entries(LONGEST).map(([name, query]): [string, number] => {
    query(reader);
    const rounds = Array.from({ length: ROUNDS }, () => {
      const used = process.cpuUsage();
      query(reader);
      return processorUs(used) / 1_000;
    });
    return [name, median(rounds)];
  });
  return Object.fromEntries(measured) as Measured['queriesMs'];
}

function measureTrust(writer: Db, reader: Db): Measured['trustMs'] {
  const time = (): number => {
    beat(writer);
    trust(reader);
    const used = process.cpuUsage();
    for (let round = 0; round < TRUST_ROUNDS; round += 1) trust(reader);
    return processorUs(used) / 1_000 / TRUST_ROUNDS;
  };
  const request = writer.prepare(
    `INSERT INTO due_reads (
       product_id, reason, priority, is_suspect, made_at_ms, first_made_at_ms, not_before_ms
     ) VALUES (?, 'conflict', 1, 1, 1, 1, 1)`,
  );
  const ask = writer.transaction((from: number, to: number) => {
    for (let product = from; product < to; product += 1) request.run(productId(product));
  });
  const none = time();
  ask(0, 100);
  const some = time();
  ask(100, 2_000);
  const many = time();
  writer.exec('DELETE FROM due_reads');
  writer.exec('UPDATE mirror_state SET trusted_after_ms = 9000000000000');
  return { none, some, many, all: time() };
}

function processorUs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
