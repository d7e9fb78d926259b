/**
 * `WHERE seq > :last ORDER BY seq` misses nothing and repeats nothing
 * (docs/reading-the-mirror.md#following-changes).
 */
import { expect, test } from 'vitest';
import { eventually } from '../../process/wait.ts';
import { delivery, detail, item, readEntry, readerDb, rows, storeAt, T0 } from '../mirror-file.ts';

type Row = Record<string, unknown>;
const VALUES =
  'variant_id, warehouse_id, product_id, sku, product_name, variant_name, available_qty, on_hand, change_seq';

/** Without the names, which are those of the moment in which they are asked for. */
const CHANGE =
  'seq, variant_id, warehouse_id, sku, old_qty, new_qty, delta, source, reason, order_id, user_id, update_time, recorded_at, request_id';

test('a consumer that polls while others write sees each change once, in order, and keeps an equal copy', async () => {
  const { writer, path } = await storeAt();
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
      await writer.appendDelivery(body, atMs);
      if (n % 10 !== 0) continue;
      const product = detail(String(lane), [{ id: String(100 + lane), levels: { 1: n, 2: lane } }], {
        name: `n${n}`,
      });
      await writer.append(readEntry(String(lane), product, { sentAtMs: atMs + 50_000, s0: writer.lastSeq }));
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
  await eventually(() => writer.appliedSeq === writer.lastSeq, { what: 'all is applied' });
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
