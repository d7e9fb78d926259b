/** However large the mirror, a page takes little of the reader's thread, which everyone else's questions wait for. */
import { expect, test } from 'vitest';
import { queries } from '../../src/mirror/reader/queries.ts';
import type { Db } from '../../src/sqlite/open.ts';
import type { StoreReader } from '../../src/mirror/reader/store-reader.ts';
import { newStore } from '../reconcile/mirror.ts';
import { fillMirror } from '../mirror/large-mirror.ts';
import { newPath, readerDb, T0, writerDb } from '../mirror/mirror-file.ts';
import { startOps } from './harness.ts';

/** The dearest takes about 10 ms on a quiet machine. */
const MOST_MS = 50;

const PAGES = [
  '/',
  '/?span=day',
  '/stock',
  '/stock?q=SKU-1000',
  '/stock?q=10000007',
  '/stock?q=product+24999',
  '/stock?q=nothing+has+this',
  '/stock?warehouse=9',
  '/stock?after=walk&key=100200001',
  '/stock?suspect=1',
  '/stock?suspect=1&q=nothing+has+this',
  '/stock?suspect=1&after=doubt&key=10020000&key=0&key=100200002',
  '/variants/100000011',
  '/variants/100000011?before=20000',
  '/variants/100000202',
  '/drift',
  '/drift?cause=gap&before=40000',
  '/deliveries',
  '/deliveries?before=30000',
  '/deliveries/30000',
  '/deliveries?show=quarantined',
  '/search?q=SKU-10',
  '/search?q=10',
  '/search?q=nothing-has-this',
  '/search?q=2026',
  `/search?q=${new Date(T0).toISOString().slice(0, 10)}`,
  '/runs',
  '/runs/7',
];

/** Processor time of this process, which runs no other test. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Answers from `db`, and notes what it took. */
function timedReader(db: Db): StoreReader & { spentMs: number } {
  return {
    spentMs: 0,
    async ask(name, ...args) {
      await Promise.resolve();
      const beganMs = cpuMs();
      try {
        return (queries[name] as (db: Db, args: unknown) => never)(db, args[0]);
      } finally {
        this.spentMs += cpuMs() - beganMs;
      }
    },
  };
}

test('each page of a mirror with 100,000 levels', async () => {
  const path = newPath();
  const db = writerDb(path);
  fillMirror(db, { products: 25_000, deliveries: 30_000 });
  expect(db.prepare('SELECT count(*) FROM stock_levels').pluck().get()).toBe(100_000);
  const reader = timedReader(readerDb(path));
  const ops = await startOps(newStore(), { reader, state: { status: () => reader.ask('status') } });
  const took: Record<string, number> = {};
  for (const page of PAGES) {
    for (let i = 0; i < 3; i += 1) {
      reader.spentMs = 0;
      const { status } = await ops.ask(page);
      expect([page, status]).toEqual([page, 200]);
      took[page] = Math.min(took[page] ?? Number.POSITIVE_INFINITY, Math.round(reader.spentMs * 10) / 10);
    }
  }
  expect(Object.entries(took).filter(([, ms]) => ms > MOST_MS)).toEqual([]);
});
