/** The event log by itself: what is in it, and what a commit that fails leaves (docs/architecture.md#the-event-log). */
import Database from 'better-sqlite3';
import { statSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { encodeEntry } from '../../src/event-log/entries.ts';
import { EventLog, type LogInput } from '../../src/event-log/event-log.ts';
import { openLogForAppending } from '../../src/event-log/open-log.ts';
import { present } from '../shared/present.ts';
import { delivery, detail, item, newPath, readEntry, rows, T0, values } from '../mirror/mirror-file.ts';

function openLog(path = newPath()) {
  const db = openLogForAppending(path);
  onTestFinished(() => void db.close());
  return { db, log: new EventLog(db), path };
}

const arrived = (id: string, arrivedAtMs = T0): LogInput => ({
  kind: 'delivery',
  body: delivery(id, item()),
  arrivedAtMs,
});

const read = (productId: string, qty: number, sentAtMs = T0): LogInput => ({
  kind: 'entry',
  entry: encodeEntry(
    readEntry(productId, detail(productId, [{ id: `${productId}0`, levels: { 1: qty } }]), {
      sentAtMs,
      s0: 0,
    }),
  ),
});

const listed: LogInput = {
  kind: 'entry',
  entry: encodeEntry({ kind: 'listed', atMs: T0, productIds: ['10'], lookup: false }),
};

test('a batch has its places in its own order, without a hole, and duplicates have the place of the first', () => {
  const { db, log } = openLog();
  expect(log.append([arrived('a'), listed, arrived('a', T0 + 1), arrived('b', T0 + 2)])).toEqual([
    { seq: 1, duplicate: false },
    { seq: 2, duplicate: false },
    { seq: 1, duplicate: true },
    { seq: 3, duplicate: false },
  ]);
  expect(log.append([arrived('b'), arrived('c')])).toEqual([
    { seq: 3, duplicate: true },
    { seq: 4, duplicate: false },
  ]);
  expect(rows(db, 'SELECT seq, kind, at_ms FROM log ORDER BY seq')).toEqual([
    { seq: 1, kind: 'delivery', at_ms: T0 },
    { seq: 2, kind: 'listed', at_ms: T0 },
    { seq: 3, kind: 'delivery', at_ms: T0 + 2 },
    { seq: 4, kind: 'delivery', at_ms: T0 },
  ]);
  expect([log.firstSeq, log.lastSeq]).toEqual([1, 4]);
});

test('a body is known after a reopen too, and places go on', () => {
  const first = openLog();
  first.log.append([arrived('a'), arrived('b')]);
  first.db.close();
  const { log } = openLog(first.path);
  expect(log.lastSeq).toBe(2);
  expect(log.append([arrived('b'), arrived('c')])).toEqual([
    { seq: 2, duplicate: true },
    { seq: 3, duplicate: false },
  ]);
});

test('its file is for nobody else', () => {
  const { path } = openLog();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('without room none of the batch is there, and it goes on once there is', () => {
  const { db, log } = openLog();
  log.append([arrived('a')]);
  db.pragma(`max_page_count = ${(db.pragma('page_count', { simple: true }) as number) + 5}`);
  const large: LogInput = {
    kind: 'delivery',
    body: delivery('large', item({ sku: 'x'.repeat(500_000) })),
    arrivedAtMs: T0,
  };
  expect(() => log.append([arrived('b'), large])).toThrow('full');
  expect(log.lastSeq).toBe(1);
  expect(values(db, 'SELECT seq FROM log')).toEqual([1]);
  db.pragma('max_page_count = 1000000');
  expect(log.append([arrived('b'), large]).map(({ seq }) => seq)).toEqual([2, 3]);
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
});

test.each([
  ['leaves the transaction open', [] as string[], 1],
  ['has rolled it back already', ['ROLLBACK'], 1],
  ['is there all the same', ['COMMIT'], 3],
])('a COMMIT that fails and %s: the next batch goes on behind what is there', (_name, instead, lastSeq) => {
  const { db, log } = openLog();
  log.append([arrived('a')]);
  const exec = db.exec.bind(db);
  const failing = vi.spyOn(db, 'exec').mockImplementation((sql) => {
    if (sql !== 'COMMIT') return exec(sql);
    for (const other of instead) exec(other);
    throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
  });
  expect(() => log.append([arrived('b'), arrived('c')])).toThrow('disk I/O error');
  failing.mockRestore();
  expect(log.lastSeq).toBe(lastSeq);
  // The store does not send it again, but what it was asked is told truly.
  expect(log.append([arrived('b'), arrived('d')])).toEqual([
    { seq: 2, duplicate: lastSeq === 3 },
    { seq: lastSeq === 3 ? 4 : 3, duplicate: false },
  ]);
  expect(values(db, 'SELECT seq FROM log ORDER BY seq')).toEqual(
    Array.from({ length: log.lastSeq }, (_, i) => i + 1),
  );
});

test('the oldest go first, as many as are asked, none that is not applied, and never the last', () => {
  const { db, log, path } = openLog();
  log.append(Array.from({ length: 6 }, (_, n) => arrived(`r${n}`, T0 + n)));
  const seqs = () => values(db, 'SELECT seq FROM log ORDER BY seq');
  expect(log.prune({ beforeMs: T0 + 3, belowSeq: 99, limit: 2 })).toEqual({ deleted: 2, firstSeq: 3 });
  expect(log.prune({ beforeMs: T0 + 4, belowSeq: 4, limit: 9 })).toEqual({ deleted: 1, firstSeq: 4 });
  expect(seqs()).toEqual([4, 5, 6]);
  expect(log.prune({ beforeMs: T0 + 99, belowSeq: 5, limit: 9 })).toEqual({ deleted: 1, firstSeq: 5 });
  expect(log.prune({ beforeMs: T0 + 99, belowSeq: 6, limit: 9 })).toEqual({ deleted: 1, firstSeq: 7 });
  expect(log.prune({ beforeMs: T0 + 5, belowSeq: 6, limit: 9 })).toEqual({ deleted: 0, firstSeq: 6 });
  expect(seqs()).toEqual([6]);
  db.close();
  expect(openLog(path).log.append([arrived('new')])).toEqual([{ seq: 7, duplicate: false }]);
});

test('a detail is left out only where the last one logged for the product is the same, and still there', () => {
  const { db, log } = openLog();
  const isWhole = (...inputs: readonly LogInput[]): boolean[] =>
    log.append(inputs).map(({ seq }) => {
      const payload = present(values<Buffer>(db, 'SELECT payload FROM log WHERE seq = ?', seq)[0]);
      const { detail: kept } = JSON.parse(payload.toString()) as {
        detail: { json?: string; hash?: string };
      };
      return kept.json !== undefined && kept.hash === undefined;
    });
  expect(isWhole(read('10', 5), read('10', 5), read('11', 5), read('10', 4), read('10', 5))).toEqual([
    true,
    false,
    true,
    true,
    true,
  ]);
  expect(isWhole(read('10', 5), read('11', 5))).toEqual([false, false]);
  // What it would refer to goes.
  log.prune({ beforeMs: T0 + 99_000, belowSeq: 5, limit: 99 });
  expect(log.firstSeq).toBe(5);
  expect(isWhole(read('10', 5), read('11', 5), read('11', 5))).toEqual([false, true, false]);
});

test('what a rolled back batch had logged is not left out after it', () => {
  const { db, log } = openLog();
  const exec = db.exec.bind(db);
  const failing = vi.spyOn(db, 'exec').mockImplementation((sql) => {
    if (sql === 'COMMIT') throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
    return exec(sql);
  });
  expect(() => log.append([read('10', 5)])).toThrow('disk I/O error');
  failing.mockRestore();
  log.append([read('10', 5)]);
  const payload = present(values<Buffer>(db, 'SELECT payload FROM log')[0]);
  expect(payload.toString()).toContain('Product 10');
});

test('keeps the heartbeat, the epoch and the highest change number handed out', () => {
  const { log } = openLog();
  log.append([arrived('a', T0 + 5)]);
  log.beat(T0 + 9, 7);
  log.beat(T0 + 10, 6);
  expect(log.metadata()).toMatchObject({ aliveAtMs: T0 + 10, changeSeq: 7, lastAtMs: T0 + 5 });
  log.beginEpoch('second', 3);
  expect(log.metadata()).toMatchObject({ epoch: 'second', aliveAtMs: T0 + 10, changeSeq: 7 });
});

test('logs each detail whole again in a new epoch', () => {
  const { db, log } = openLog();
  log.append([read('10', 5)]);
  log.beginEpoch('second', 0);
  log.append([read('10', 5)]);
  const payloads = values<Buffer>(db, 'SELECT payload FROM log ORDER BY seq').map(String);
  expect(payloads.map((payload) => payload.includes('Product 10'))).toEqual([true, true]);
});
