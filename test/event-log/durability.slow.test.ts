/** An acknowledged delivery survives kill -9 (docs/architecture.md#promises, 1). */
import { copyFileSync, existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { run } from '../mirror/child.ts';
import {
  delivery,
  item,
  newPath,
  readerDb,
  rows,
  storeAt,
  T0,
  values,
  writerDb,
} from '../mirror/mirror-file.ts';

/** Milliseconds between the first acknowledgement and the kill. */
const ROUNDS = [3, 170, 41, 350];

test('after kill -9 at any moment everything acknowledged is there', async () => {
  const path = newPath();
  const acknowledged = new Map<number, number>();
  for (const [round, afterMs] of ROUNDS.entries()) {
    const child = run('append-forever.ts', path, String(round * 1_000_000));
    child.lines.on('line', (line) => {
      const [n, seq] = line.split(' ').map(Number) as [number, number];
      acknowledged.set(n, seq);
    });
    await child.nextLine();
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await child.kill();
  }
  const db = writerDb(path);
  const log = rows(
    db,
    `SELECT seq, json_extract(CAST(payload AS TEXT), '$.request_time') AS n FROM log ORDER BY seq`,
  );
  const kept = new Map(log.map((row) => [row['n'], row['seq']]));
  expect(acknowledged.size).toBeGreaterThan(100);
  const lost = [...acknowledged].filter(([n, seq]) => kept.get(n) !== seq);
  expect(lost).toEqual([]);
  expect(log.map((row) => row['seq'])).toEqual(log.map((_, i) => i + 1));
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
});

test('a kill while the mirror’s file is first written leaves a journal, and the next start goes on from there', async () => {
  const [killed, path] = [newPath(), newPath()];
  const db = new Database(killed);
  // So small a cache that the file is written before the transaction ends.
  db.pragma('cache_size = 1');
  db.exec('BEGIN; CREATE TABLE half (made BLOB)');
  for (let n = 0; n < 100; n += 1) db.exec('INSERT INTO half VALUES (randomblob(4000))');
  for (const suffix of ['', '-journal']) copyFileSync(killed + suffix, path + suffix);
  db.close();

  const store = await storeAt(path);
  await store.writer.appendDelivery(delivery('a', item()), T0);
  await store.close();
  expect(values(readerDb(path), 'SELECT available_qty FROM mirror_stock')).toEqual([4]);
  expect(existsSync(`${path}-journal`)).toBe(false);
});
