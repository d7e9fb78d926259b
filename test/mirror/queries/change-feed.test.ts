/**
 * `WHERE seq > :last ORDER BY seq` misses nothing and repeats nothing
 * (docs/reading-the-mirror.md#following-changes).
 */
import { expect, test } from 'vitest';
import { SHARE_BITS } from '../../../src/mirror/file/schema.ts';
import { changesAfter, changesOf } from '../../../src/mirror/queries/changes.ts';
import { blockWith, documentAt } from '../../docs/blocks.ts';
import {
  DirectWriter,
  values,
  allApplied,
  delivery,
  detail,
  item,
  readInput,
  readerDb,
  rows,
  startDatabases,
  T0,
  writerDb,
} from '../mirror-file.ts';

type Row = Record<string, unknown>;
const VALUES =
  'variant_id, warehouse_id, product_id, sku, product_name, variant_name, available_qty, on_hand, change_seq';

const CHANGE =
  'seq, variant_id, warehouse_id, sku, old_qty, new_qty, delta, source, reason, order_id, user_id, update_time, recorded_at, request_id';

test('gives a polling consumer each change once, in order', async () => {
  const databases = await startDatabases();
  const { inbox, writer, path } = databases;
  const consumer = readerDb(path);
  const poll = consumer.prepare<[number], Row>(
    `SELECT ${CHANGE} FROM mirror_changes WHERE seq > ? ORDER BY seq LIMIT 50`,
  );
  const pollStock = consumer.prepare<[number], Row>(
    `SELECT ${VALUES} FROM mirror_stock WHERE change_seq > ? ORDER BY change_seq LIMIT 50`,
  );
  const seen: Row[] = [];
  const copy = new Map<string, Row>();
  let lastStock = 0;
  const keyOf = (row: Row) => `${String(row['variant_id'])}/${String(row['warehouse_id'])}`;
  const consume = (): number => {
    const found = poll.all(Number(seen.at(-1)?.['seq'] ?? 0));
    seen.push(...found);
    const moved = pollStock.all(lastStock);
    for (const row of moved) copy.set(keyOf(row), row);
    lastStock = Number(moved.at(-1)?.['change_seq'] ?? lastStock);
    return found.length + moved.length;
  };

  let isWriting = true;
  let count = 0;
  const write = async (lane: number): Promise<void> => {
    for (let n = 0; n < 60; n += 1) {
      count += 1;
      const atMs = T0 + count * 10;
      const moved = { old: count - 1, new: count, update_time: atMs };
      const id = String(100 + ((lane + n) % 7));
      const body = delivery(`r${count}`, item({ id, ...moved }), item({ id: '1', ...moved }));
      inbox.append(body, atMs);
      if (n % 10 !== 0) continue;
      const product = detail(String(lane), [{ id: String(100 + lane), levels: { 1: n, 2: lane } }], {
        name: `n${n}`,
      });
      await writer.append(readInput(String(lane), product, { sentAtMs: atMs + 50_000 }));
    }
  };
  const writing = Promise.all([1, 2, 3, 4].map(write)).finally(() => {
    isWriting = false;
  });
  while (isWriting) {
    consume();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await writing;
  await allApplied(databases);
  while (consume() > 0);

  expect(seen).toEqual(rows(consumer, `SELECT ${CHANGE} FROM mirror_changes ORDER BY seq`));
  expect(seen.length).toBeGreaterThan(200);
  const stock = rows(consumer, `SELECT ${VALUES} FROM mirror_stock`);
  const byKey = (a: Row, b: Row) => (keyOf(a) < keyOf(b) ? -1 : 1);
  expect([...copy.values()].toSorted(byKey)).toEqual(stock.toSorted(byKey));
  const held = new Map<string, unknown>();
  for (const row of seen.filter(({ warehouse_id }) => warehouse_id !== null)) {
    expect(row['old_qty']).toBe(held.get(keyOf(row)) ?? null);
    held.set(keyOf(row), row['new_qty']);
  }
});

test('lists the history of one variant, newest first, across index shares', () => {
  const db = writerDb();
  const share = 2 ** SHARE_BITS;
  const insert = db.prepare(
    `INSERT INTO changes (seq, variant_id, source, recorded_at_ms) VALUES (?, ?, 'webhook', ${T0})`,
  );
  const own = [3, share - 1, share, share + 7, 4 * share];
  for (const seq of own) insert.run(seq, '100');
  for (const seq of [1, share + 1, 5 * share]) insert.run(seq, '101');
  const history = (beforeSeq: number, limit: number) =>
    changesOf(db, { variantId: '100', beforeSeq, limit }).map(({ seq }) => seq);
  expect(history(Number.MAX_SAFE_INTEGER, 9)).toEqual(own.toReversed());
  expect(history(share + 7, 2)).toEqual([share, share - 1]);
  expect(history(3, 2)).toEqual([]);
});

test('reports pruned changes also if a later change arrived earlier', () => {
  const writer = new DirectWriter();
  const at = [T0, T0 + 50, T0 + 20, T0 + 60, T0 + 70];
  for (const [n, atMs] of at.entries()) {
    const change = item({ old: 100 - n, new: 99 - n, update_time: T0 - 10_000 + n });
    writer.deliver(delivery(`r${n}`, change), atMs);
  }
  const kept = (): number[] => values(writer.db, 'SELECT inbox_seq FROM changes ORDER BY seq');
  const keptAfter = () => changesAfter(writer.db, { after: 0, limit: 1 }).keptAfterSeq;
  expect(keptAfter()).toBe(0);
  writer.prune(T0 + 30);
  expect(kept()).toEqual([2, 4, 5]);
  const [second = 0, fourth = 0] = values<number>(writer.db, 'SELECT seq FROM changes ORDER BY seq');
  expect(keptAfter()).toBeGreaterThan(second);
  expect(keptAfter()).toBeLessThan(fourth);
  const recipe = blockWith(documentAt('docs/reading-the-mirror.md'), 'sql', 'AS start_over').text;
  const [epoch] = values(writer.db, 'SELECT epoch FROM mirror_status');
  const startsOver = (last: number) => rows(writer.db, recipe, { epoch, last })[0]?.['start_over'];
  expect([second, keptAfter(), fourth].map(startsOver)).toEqual([1, 0, 0]);
  writer.prune(T0 + 1_000_000);
  expect(kept()).toEqual([]);
  expect(keptAfter()).toBe(values<number>(writer.db, 'SELECT last_seq FROM mirror_status')[0]);
});
