/** The write-ahead log stays short while writes go on, and a reader in the way holds up nobody (DESIGN §10). */
import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { delivery, item, readerDb, storeAt, T0, values } from './mirror-file.ts';

const walBytes = (path: string): number => statSync(`${path}-wal`).size;

test('under a steady stream of writes the log begins anew', async () => {
  const { writer, path } = await storeAt();
  let largest = 0;
  let hasBegunAnew = false;
  const watch = setInterval(() => {
    const bytes = walBytes(path);
    if (bytes < largest) hasBegunAnew = true;
    largest = Math.max(largest, bytes);
  }, 10);
  const untilMs = performance.now() + 10_000;
  let n = 0;
  const write = async (): Promise<void> => {
    while (!hasBegunAnew && performance.now() < untilMs) {
      n += 1;
      await writer.appendDelivery(delivery(`r${n}`, item({ id: String(n), sku: 'x'.repeat(60_000) })), T0);
    }
  };
  await Promise.all(Array.from({ length: 8 }, write));
  clearInterval(watch);
  expect(largest).toBeGreaterThan(16 << 20);
  expect(hasBegunAnew).toBe(true);
});

test('a reader in the middle of a long transaction neither blocks the writer nor sees what it writes', async () => {
  const { writer, path } = await storeAt();
  await writer.appendDelivery(delivery('a', item()), T0);
  const reader = readerDb(path);
  reader.exec('BEGIN');
  expect(values(reader, 'SELECT count(*) FROM log')).toEqual([1]);
  const untilMs = performance.now() + 1_500;
  let slowestMs = 0;
  for (let n = 0; performance.now() < untilMs; n += 1) {
    const startedMs = performance.now();
    await writer.appendDelivery(delivery(`b${n}`, item({ id: String(n), sku: 'x'.repeat(100_000) })), T0);
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
  }
  expect(slowestMs).toBeLessThan(700);
  expect(values(reader, 'SELECT count(*) FROM log')).toEqual([1]);
  reader.exec('COMMIT');
  expect(values<number>(reader, 'SELECT count(*) FROM log')[0]).toBeGreaterThan(10);
});
