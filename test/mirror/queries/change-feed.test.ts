/**
 * `WHERE seq > :last ORDER BY seq` misses nothing and repeats nothing
 * (docs/reading-the-mirror.md#following-changes).
 */
import { expect, test } from 'vitest';
import { changesAfter, lastChanges } from '../../../src/mirror/queries/changes.ts';
import {
  allApplied,
  delivery,
  detail,
  item,
  readInput,
  readerDb,
  rows,
  storeAt,
  T0,
} from '../mirror-file.ts';

type Row = Record<string, unknown>;
const VALUES =
  'variant_id, warehouse_id, product_id, sku, product_name, variant_name, available_qty, on_hand, change_seq';

/** Without the names, which are those of the moment in which they are asked for. */
const CHANGE =
  'seq, variant_id, warehouse_id, sku, old_qty, new_qty, delta, source, reason, order_id, user_id, update_time, recorded_at, request_id';

test('a consumer that polls while others write sees each change once, in order, and keeps an equal copy', async () => {
  const store = await storeAt();
  const { inbox, writer, path } = store;
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
      await inbox.append(body, atMs);
      if (n % 10 !== 0) continue;
      const product = detail(String(lane), [{ id: String(100 + lane), levels: { 1: n, 2: lane } }], {
        name: `n${n}`,
      });
      await writer.append(readInput(String(lane), product, { sentAtMs: atMs + 50_000, s0: writer.s0 }));
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
  await allApplied(store);
  while (consume() > 0);

  expect(seen).toEqual(rows(consumer, `SELECT ${CHANGE} FROM mirror_changes ORDER BY seq`));
  expect(seen.length).toBeGreaterThan(200);
  const stock = rows(consumer, `SELECT ${VALUES} FROM mirror_stock`);
  const byKey = (a: Row, b: Row) => (keyOf(a) < keyOf(b) ? -1 : 1);
  expect([...copy.values()].toSorted(byKey)).toEqual(stock.toSorted(byKey));
  // Each stock level's rows chain: what one says was before is what the one before it says.
  const held = new Map<string, unknown>();
  for (const row of seen.filter(({ warehouse_id }) => warehouse_id !== null)) {
    expect(row['old_qty']).toBe(held.get(keyOf(row)) ?? null);
    held.set(keyOf(row), row['new_qty']);
  }
});

test('the changes of one SKU are those that had it then, in pages, and the last of them', async () => {
  const { inbox, writer, path } = await storeAt();
  // Variant 100 is given another SKU after its first change, and variant 101 has the first one all the time.
  for (const [n, id, sku] of [
    [1, '100', 'A'],
    [2, '101', 'A'],
    [3, '100', 'B'],
    [4, '101', 'A'],
    [5, '100', 'B'],
  ] as const) {
    const moved = item({ id, sku, old: n, new: n + 1, update_time: T0 + n });
    await inbox.append(delivery(`r${n}`, moved), T0 + n);
    if (n > 1) continue;
    const renamed = detail('1', [{ id: '100', levels: {}, more: { sku: 'B' } }]);
    await writer.append(readInput('1', renamed, { sentAtMs: T0 + 60_000, s0: writer.s0 }));
  }
  await writer.command('settle', undefined);
  const db = readerDb(path);
  const reported = rows(db, "SELECT seq, sku FROM mirror_changes WHERE source = 'webhook' ORDER BY seq");
  const seqsOf = (sku: string) => reported.filter((row) => row['sku'] === sku).map(({ seq }) => seq);
  expect(seqsOf('A')).toHaveLength(3);
  const seqs = (page: { readonly changes: readonly { readonly seq: number }[] }) =>
    page.changes.map(({ seq }) => seq);

  const first = changesAfter(db, { after: null, limit: 2, sku: 'A' });
  expect([seqs(first), first.hasMore]).toEqual([seqsOf('A').slice(0, 2), true]);
  const second = changesAfter(db, { after: first.changes.at(-1)?.seq ?? 0, limit: 2, sku: 'A' });
  expect([seqs(second), second.hasMore]).toEqual([seqsOf('A').slice(2), false]);
  expect(seqs(lastChanges(db, { limit: 2, sku: 'A' }))).toEqual(seqsOf('A').slice(-2));
  expect(seqs(lastChanges(db, { limit: 1, sku: null }))).toEqual(reported.slice(-1).map(({ seq }) => seq));
  expect(seqs(lastChanges(db, { limit: 5, sku: 'C' }))).toEqual([]);
});
