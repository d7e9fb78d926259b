/** The writer behind its thread: who is told what, when, and when it ends. */
import type { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { StoreError } from '../../src/store/errors.ts';
import { eventually } from '../process/wait.ts';
import { delivery, item, newPath, readEntry, readerDb, storeAt, T0, values } from './mirror-file.ts';

const bodies = (count: number, from = 0): Uint8Array[] =>
  Array.from({ length: count }, (_, n) => delivery(`r${from + n}`, item({ id: String(from + n) })));

test('what is appended is on disk, numbered in order, and told in order of its commit', async () => {
  const { writer, path } = await storeAt();
  const db = readerDb(path);
  const told: number[] = [];
  writer.onAppended(({ seq }, kind) => {
    expect(kind).toBe('delivery');
    expect(writer.lastSeq).toBeGreaterThanOrEqual(seq);
    told.push(seq);
  });
  const found = db.prepare('SELECT 1 FROM log WHERE seq = ?').pluck();
  await Promise.all(
    bodies(300).map(async (body) => {
      const { seq, duplicate } = await writer.appendDelivery(body, T0);
      expect(duplicate).toBe(false);
      expect(writer.lastSeq).toBeGreaterThanOrEqual(seq);
      expect(told).toContain(seq);
      expect(found.get(seq)).toBe(1);
    }),
  );
  expect(told).toEqual(Array.from({ length: 300 }, (_, n) => n + 1));
  expect(writer.lastSeq).toBe(300);
  expect(writer.waitingBytes).toBe(0);
});

test('deliveries and reads that come by turns are each told of their own place in the log', async () => {
  const { writer, path } = await storeAt();
  const told: { seq: number; kind: string }[] = [];
  writer.onAppended(({ seq }, kind) => void told.push({ seq, kind }));
  const appended = await Promise.all(
    bodies(40).flatMap((body, n) => [
      writer.appendDelivery(body, T0),
      writer.append(readEntry(String(n), null, { sentAtMs: T0, s0: 0 })),
    ]),
  );
  const kinds = readerDb(path).prepare<[number], string>('SELECT kind FROM log WHERE seq = ?').pluck();
  for (const [n, { seq }] of appended.entries())
    expect(kinds.get(seq)).toBe(n % 2 === 0 ? 'delivery' : 'read');
  expect(new Set(appended.map(({ seq }) => seq)).size).toBe(80);
  expect(told.toSorted((a, b) => a.seq - b.seq)).toEqual(
    Array.from({ length: 80 }, (_, n) => ({ seq: n + 1, kind: kinds.get(n + 1) })),
  );
});

test('closing commits what waits, whoever closes how often, and the next start finds it', async () => {
  const path = newPath();
  const store = await storeAt(path);
  const waiting = bodies(200).map((body) => store.writer.appendDelivery(body, T0));
  expect(store.writer.waitingBytes).toBeGreaterThan(200 * 100);
  await Promise.all([store.close(), store.close()]);
  expect((await Promise.all(waiting)).map(({ seq }) => seq)).toEqual(
    Array.from({ length: 200 }, (_, n) => n + 1),
  );
  await expect(store.writer.appendDelivery(delivery('late', item()), T0)).rejects.toMatchObject({
    kind: 'closed',
  });
  await expect(store.reader.ask('status')).rejects.toMatchObject({ kind: 'closed' });
  expect(values(readerDb(path), 'SELECT count(*) FROM log')).toEqual([200]);
  expect(store.deaths).toEqual([]);
});

test('deliveries go before the reads that were queued before them', async () => {
  const { writer, path } = await storeAt();
  const other = new Database(path);
  onTestFinished(() => void other.close());
  // While the first share of the reads waits for the lock, everything else queues behind it.
  other.exec('BEGIN IMMEDIATE');
  const reads = Array.from({ length: 100 }, (_, n) =>
    writer.append({ kind: 'listed', atMs: T0, productIds: [String(n)], lookup: false }),
  );
  const delivered = bodies(10).map((body) => writer.appendDelivery(body, T0));
  other.exec('COMMIT');
  const last = Math.max(...(await Promise.all(delivered)).map(({ seq }) => seq));
  const seqs = (await Promise.all(reads)).map(({ seq }) => seq);
  expect(seqs.filter((seq) => seq < last).length).toBeLessThanOrEqual(16);
});

test('a store that another program locks rejects in time and recovers by itself', async () => {
  const { writer, path } = await storeAt();
  const other = new Database(path);
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  const refused = await Promise.allSettled(bodies(20).map((body) => writer.appendDelivery(body, T0)));
  expect(refused.every(({ status }) => status === 'rejected')).toBe(true);
  expect((refused[0] as PromiseRejectedResult).reason).toBeInstanceOf(StoreError);
  expect((refused[0] as PromiseRejectedResult).reason).toMatchObject({ kind: 'busy' });
  expect(writer.lastSeq).toBe(0);
  other.exec('COMMIT');
  expect((await writer.appendDelivery(delivery('again', item()), T0)).seq).toBe(1);
});

test('a thread that dies rejects everything that waits, and the owner is told', async () => {
  const workers: Worker[] = [];
  const note = (worker: Worker): void => void workers.push(worker);
  process.on('worker', note);
  onTestFinished(() => void process.off('worker', note));
  const store = await storeAt();
  await eventually(() => workers.length === 3, { what: 'all threads are known' });
  const [writerThread, readerThread, checkpointThread] = workers;
  const waiting = bodies(500).map((body) => store.writer.appendDelivery(body, T0));
  void writerThread?.terminate();
  const settled = await Promise.allSettled(waiting);
  const rejected = settled.filter((outcome) => outcome.status === 'rejected');
  expect(rejected.length).toBeGreaterThan(0);
  for (const { reason } of rejected) expect(reason).toMatchObject({ kind: 'closed' });
  await eventually(() => store.deaths.length === 1, { what: 'the owner is told' });
  await expect(store.writer.command('alive', { atMs: T0 })).rejects.toMatchObject({ kind: 'closed' });

  await readerThread?.terminate();
  await expect(store.reader.ask('status')).rejects.toMatchObject({ kind: 'closed' });
  await checkpointThread?.terminate();
  await eventually(() => store.deaths.length === 3, { what: 'the owner is told of each thread once' });
  // Nothing left to wait for.
  await store.close();
});

test('a failing listener keeps nobody waiting', async () => {
  const { writer } = await storeAt();
  const uncaught: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => void uncaught.push(error));
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  });
  const stop = writer.onAppended(() => {
    throw new Error('a listener’s fault');
  });
  const appended = await Promise.all(bodies(20).map((body) => writer.appendDelivery(body, T0)));
  expect(appended).toHaveLength(20);
  stop();
  expect(uncaught.length).toBeGreaterThan(0);
});
