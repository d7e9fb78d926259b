/** The inbox's file (docs/architecture.md#inbox). */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { bodyHash, Inbox, openInbox, readMetadata, type Arrival } from '../../src/inbox/inbox.ts';
import { delivery, item, newPath, rows, T0, values } from '../mirror/mirror-file.ts';

function open(path = newPath()) {
  const db = openInbox(path);
  onTestFinished(() => void db.close());
  return { db, inbox: new Inbox(db), path };
}

const arrival = (id: string, arrivedAtMs = T0): Arrival => ({ body: delivery(id, item()), arrivedAtMs });

test('numbers deliveries in order and drops repeated bodies, also after reopening', () => {
  const first = open();
  first.inbox.append([arrival('a'), arrival('a', T0 + 1), arrival('b', T0 + 2)]);
  first.db.close();
  const { db, inbox } = open(first.path);
  inbox.append([arrival('b'), arrival('c')]);
  expect(rows(db, 'SELECT seq, arrived_at_ms FROM inbox ORDER BY seq')).toEqual([
    { seq: 1, arrived_at_ms: T0 },
    { seq: 2, arrived_at_ms: T0 + 2 },
    { seq: 3, arrived_at_ms: T0 },
  ]);
});

test('stores a body byte for byte in a file with mode 0600', () => {
  const { db, inbox, path } = open();
  const body = Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x00, 0xff, 0xfe, 0x7d);
  inbox.append([{ body, arrivedAtMs: T0 }]);
  expect(values<Buffer>(db, 'SELECT body FROM inbox')[0]?.equals(body)).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('hashes the bytes of a body, not its request id or memory', () => {
  const body = delivery('a', item({ new: 4 }));
  expect(bodyHash(body).equals(bodyHash(delivery('a', item({ new: 3 }))))).toBe(false);
  const larger = new Uint8Array(body.byteLength + 20).fill(0x20);
  larger.set(body, 10);
  expect(bodyHash(larger.subarray(10, 10 + body.byteLength)).equals(bodyHash(body))).toBe(true);
});

test('stores nothing of a batch without room', () => {
  const { db, inbox } = open();
  inbox.append([arrival('a')]);
  db.pragma(`max_page_count = ${(db.pragma('page_count', { simple: true }) as number) + 5}`);
  const large = { body: delivery('large', item({ sku: 'x'.repeat(500_000) })), arrivedAtMs: T0 };
  expect(() => inbox.append([arrival('b'), large])).toThrow('full');
  expect(inbox.lastSeq).toBe(1);
  expect(values(db, 'SELECT seq FROM inbox')).toEqual([1]);
  db.pragma('max_page_count = 1000000');
  inbox.append([arrival('b'), large]);
  expect(values(db, 'SELECT seq FROM inbox ORDER BY seq')).toEqual([1, 2, 3]);
});

test.each([
  ['leaves its transaction open', []],
  ['has rolled back already', ['ROLLBACK']],
])('stores nothing of a failed commit that %s', (_, instead) => {
  const { db, inbox } = open();
  inbox.append([arrival('a')]);
  const exec = db.exec.bind(db);
  const failing = vi.spyOn(db, 'exec').mockImplementation((sql) => {
    if (sql !== 'COMMIT') return exec(sql);
    for (const other of instead) exec(other);
    throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
  });
  expect(() => inbox.append([arrival('b'), arrival('c')])).toThrow('disk I/O error');
  failing.mockRestore();
  inbox.append([arrival('b'), arrival('d')]);
  expect(values(db, 'SELECT seq FROM inbox ORDER BY seq')).toEqual([1, 2, 3]);
});

test('continues the numbers after a stored commit was reported as failed', () => {
  const { db, inbox } = open();
  const exec = db.exec.bind(db);
  const failing = vi.spyOn(db, 'exec').mockImplementation((sql) => {
    exec(sql);
    if (sql !== 'COMMIT') return db;
    throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
  });
  expect(() => inbox.append([arrival('a'), arrival('b')])).toThrow('disk I/O error');
  failing.mockRestore();
  inbox.append([arrival('b'), arrival('c')]);
  expect(values(db, 'SELECT seq FROM inbox ORDER BY seq')).toEqual([1, 2, 3]);
  expect(inbox.lastSeq).toBe(3);
});

test('prunes the oldest applied rows in steps and never the last', () => {
  const { db, inbox, path } = open();
  inbox.append(Array.from({ length: 6 }, (_, n) => arrival(`r${n}`, T0 + n)));
  const prune = (beforeMs: number, doneSeq: number, limit = 9) =>
    inbox.prune({ beforeMs: T0 + beforeMs, doneSeq, limit });
  expect(prune(3, 99, 2)).toEqual({ deleted: 2, firstSeq: 3 });
  expect(prune(3, 99)).toEqual({ deleted: 1, firstSeq: 4 });
  expect(prune(99, 4)).toEqual({ deleted: 1, firstSeq: 5 });
  expect(prune(99, 99)).toEqual({ deleted: 1, firstSeq: 6 });
  db.close();
  const again = open(path);
  again.inbox.append([arrival('new')]);
  expect(values(again.db, 'SELECT seq FROM inbox ORDER BY seq')).toEqual([6, 7]);
});

test('keeps the heartbeat, the downtime to make up for, the epoch and the highest change number', () => {
  const { db, inbox } = open();
  const { epoch, hostId, ...fresh } = readMetadata(db);
  expect(fresh).toEqual({
    aliveAtMs: null,
    clockMs: null,
    missedSinceMs: null,
    keptSocket: null,
    changeSeq: 0,
    lastSeq: 0,
    publishedSeq: 0,
    streamId: null,
    streamSeq: 0,
  });
  const beat = (clockMs: number, missedSinceMs: number | null, changeSeq: number): void =>
    inbox.beat({ atMs: clockMs + 1, clockMs, missedSinceMs, changeSeq, stream: null });
  beat(T0 + 1, T0, 7);
  inbox.beat({ atMs: 1, clockMs: 1, missedSinceMs: null, keptSocket: 7, changeSeq: 0, stream: null });
  expect(readMetadata(db).keptSocket).toBe(7);
  beat(T0 + 2, T0, 6);
  expect(readMetadata(db)).toMatchObject({
    epoch,
    hostId,
    ...{ aliveAtMs: T0 + 3, clockMs: T0 + 2, missedSinceMs: T0, keptSocket: null },
    changeSeq: 7,
  });
  inbox.beginEpoch('second', 3);
  beat(T0 + 3, null, 9);
  expect(readMetadata(db)).toMatchObject({
    epoch: 'second',
    clockMs: T0 + 3,
    missedSinceMs: null,
    changeSeq: 9,
  });
  inbox.append([arrival('a', T0 + 4)]);
  expect(readMetadata(db).clockMs).toBe(T0 + 4);
});

test('publishes what was received here, oldest first and a little at a time, and nothing from the stream', () => {
  const { db, inbox } = open();
  const large = (id: string): Arrival => ({
    body: delivery(id, item({ sku: 'x'.repeat(3 << 20) })),
    arrivedAtMs: T0,
  });
  inbox.append([arrival('a'), { ...arrival('b'), fromStream: true }, large('c'), large('d'), arrival('e')]);
  inbox.append([
    { ...arrival('a'), fromStream: true },
    { ...arrival('f'), fromStream: true },
  ]);
  const first = inbox.unpublished(0);
  expect(first.rows.map(({ seq }) => seq)).toEqual([1, 3, 4]);
  expect(first.rows[0]?.id).toBe(bodyHash(arrival('a').body).toString('hex'));
  expect(first.upToSeq).toBe(4);
  expect(inbox.unpublished(4)).toMatchObject({ rows: [{ seq: 5 }], upToSeq: 6 });
  expect(inbox.unpublished(6)).toEqual({ rows: [], upToSeq: 6 });
  const beat = { atMs: T0, clockMs: T0, missedSinceMs: null, changeSeq: 0 };
  inbox.beat({ ...beat, stream: { publishedSeq: 4, streamId: 's', streamSeq: 9 } });
  expect(readMetadata(db)).toMatchObject({ publishedSeq: 4, streamId: 's', streamSeq: 9 });
  inbox.beat({ ...beat, stream: null });
  expect(readMetadata(db)).toMatchObject({ publishedSeq: 6, streamId: null });
});

test.each<[string, (path: string) => void]>([
  ['a database of another program', (path) => new Database(path).exec('CREATE TABLE mine (x)').close()],
  ['a file that is no database', (path) => writeFileSync(path, 'notes\n'.repeat(1_000))],
])('names %s and does not change it', (_, make) => {
  const path = newPath();
  make(path);
  const before = readFileSync(path);
  expect(() => openInbox(path)).toThrow(
    expect.objectContaining({ kind: 'not_a_database', message: expect.stringContaining(path) }),
  );
  expect(readFileSync(path).equals(before)).toBe(true);
});
