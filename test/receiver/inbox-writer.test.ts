/** The inbox's file (docs/architecture.md#inbox). */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { inboxPath, openInboxReader, readReceiver } from '../../src/inbox/inbox-file.ts';
import type { Missed } from '../../src/core/input.ts';
import { readMissed } from '../../src/inbox/missed.ts';
import {
  bodyHash,
  InboxWriter,
  openInboxWriter,
  type Arrival,
  type ReceiverHeartbeat,
} from '../../src/receiver/inbox-writer.ts';
import { openForWriting } from '../../src/receiver/open-inbox.ts';
import { appended, unlocked } from '../mirror/direct-writer.ts';
import { delivery, item, newPath, rows, T0, values } from '../mirror/mirror-file.ts';

function open(path = newPath()) {
  const db = openForWriting(path);
  onTestFinished(() => void db.close());
  return { db, inbox: new InboxWriter(unlocked(db)), path };
}

type Delivered = Pick<Arrival, 'body' | 'arrivedAtMs'>;

const arrival = (id: string, arrivedAtMs = T0): Delivered => ({ body: delivery(id, item()), arrivedAtMs });
const append = (inbox: InboxWriter, ...arrivals: readonly Delivered[]): void =>
  inbox.append(appended(arrivals));

const pruned = (inbox: InboxWriter, upToSeq: number, beforeMs = Infinity, afterMs = Infinity): number =>
  inbox.prune({ upToSeq, beforeMs, afterMs });

const BEAT: ReceiverHeartbeat = {
  aliveAtMs: T0 + 1,
  clockMs: T0 + 2,
  sinceBootMs: 3,
  bootId: 'boot',
  isStopped: true,
  keptSocket: 7,
  unsureSinceMs: null,
  publishedSeq: 4,
  reportJson: '{}',
};
const MISSED: Missed = { why: 'killed', sinceMs: T0, untilMs: T0 + 5, variantIds: null };

test('numbers deliveries in order and drops repeated bodies, also after reopening', () => {
  const first = open();
  append(first.inbox, arrival('a'), arrival('a', T0 + 1), arrival('b', T0 + 2));
  first.db.close();
  const { db, inbox } = open(first.path);
  append(inbox, arrival('b'), arrival('c'));
  expect(rows(db, 'SELECT seq, arrived_at_ms FROM inbox ORDER BY seq')).toEqual([
    { seq: 1, arrived_at_ms: T0 },
    { seq: 2, arrived_at_ms: T0 + 2 },
    { seq: 3, arrived_at_ms: T0 },
  ]);
});

test('stores missed rows before the deliveries, the heartbeat and the position in the stream', () => {
  const { db, inbox } = open();
  const position = { streamId: 's', streamSeq: 9 };
  inbox.append({
    ...appended([arrival('a')]),
    missed: [MISSED, MISSED],
    atMs: T0 + 9,
    position,
    heartbeat: BEAT,
  });
  expect(rows(db, 'SELECT seq, kind, arrived_at_ms FROM inbox ORDER BY seq')).toEqual([
    { seq: 1, kind: 'missed', arrived_at_ms: T0 + 9 },
    { seq: 2, kind: 'missed', arrived_at_ms: T0 + 9 },
    { seq: 3, kind: 'delivery', arrived_at_ms: T0 },
  ]);
  const [body] = values<Buffer>(db, 'SELECT body FROM inbox WHERE seq = 1');
  expect(readMissed(body ?? Buffer.alloc(0), 0)).toEqual(MISSED);
  expect(readReceiver(db)).toEqual({ inboxId: inbox.lastRun.inboxId, ...position, ...BEAT });
});

test('a missed row that is not understood asks for everything', () => {
  const { why, variantIds } = readMissed(Buffer.from('{"why":"something new"}'), T0);
  expect([why, variantIds]).toEqual(['stream_gap', null]);
  expect(readMissed(Buffer.from('no JSON'), T0)).toMatchObject({ why: 'stream_gap', untilMs: T0 });
});

test('stores a body byte for byte in a file with mode 0600', () => {
  const { db, inbox, path } = open();
  const body = Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x00, 0xff, 0xfe, 0x7d);
  append(inbox, { body, arrivedAtMs: T0 });
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
  append(inbox, arrival('a'));
  db.pragma(`max_page_count = ${(db.pragma('page_count', { simple: true }) as number) + 5}`);
  const large = { body: delivery('large', item({ sku: 'x'.repeat(500_000) })), arrivedAtMs: T0 };
  expect(() => append(inbox, arrival('b'), large)).toThrow('full');
  expect(inbox.lastSeq).toBe(1);
  expect(values(db, 'SELECT seq FROM inbox')).toEqual([1]);
  db.pragma('max_page_count = 1000000');
  append(inbox, arrival('b'), large);
  expect(values(db, 'SELECT seq FROM inbox ORDER BY seq')).toEqual([1, 2, 3]);
});

test.each([
  ['leaves its transaction open', []],
  ['has rolled back already', ['ROLLBACK']],
])('stores nothing of a failed commit that %s', (_, instead) => {
  const { db, inbox } = open();
  append(inbox, arrival('a'));
  const exec = db.exec.bind(db);
  const failing = vi.spyOn(db, 'exec').mockImplementation((sql) => {
    if (sql !== 'COMMIT') return exec(sql);
    for (const other of instead) exec(other);
    throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
  });
  expect(() => append(inbox, arrival('b'), arrival('c'))).toThrow('disk I/O error');
  failing.mockRestore();
  append(inbox, arrival('b'), arrival('d'));
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
  expect(() => append(inbox, arrival('a'), arrival('b'))).toThrow('disk I/O error');
  failing.mockRestore();
  append(inbox, arrival('b'), arrival('c'));
  expect(values(db, 'SELECT seq FROM inbox ORDER BY seq')).toEqual([1, 2, 3]);
  expect(inbox.lastSeq).toBe(3);
});

test('prunes the oldest rows as far as it may, and never the last', () => {
  const { db, inbox, path } = open();
  append(inbox, ...Array.from({ length: 6 }, (_, n) => arrival(`r${n}`, T0 + n)));
  expect(pruned(inbox, 2)).toBe(2);
  expect(pruned(inbox, 2)).toBe(0);
  expect(pruned(inbox, 99)).toBe(3);
  expect(values(db, 'SELECT seq FROM inbox')).toEqual([6]);
  db.close();
  const again = open(path);
  append(again.inbox, arrival('new'));
  expect(values(again.db, 'SELECT seq FROM inbox ORDER BY seq')).toEqual([6, 7]);
});

test('prunes no row from the first on that is too young, also if a later one is older', () => {
  const { db, inbox } = open();
  append(inbox, arrival('a', T0), arrival('b', T0 + 2), arrival('c', T0 + 1), arrival('d', T0 + 3));
  expect(pruned(inbox, 99, T0 + 2)).toBe(1);
  expect(values(db, 'SELECT seq FROM inbox ORDER BY seq')).toEqual([2, 3, 4]);
});

test('rows that a wrong clock stamped far in the future do not stop the pruning', () => {
  const { inbox } = open();
  append(inbox, arrival('a', T0 + 999_999), arrival('b', T0), arrival('c', T0 + 5), arrival('d', T0 + 6));
  expect(pruned(inbox, 99, T0 + 2)).toBe(0);
  expect(pruned(inbox, 99, T0 + 2, T0 + 1_000)).toBe(2);
});

test('prunes little at a time, however large the rows are', () => {
  const { inbox } = open();
  const large = (n: number) => ({
    body: delivery(`r${n}`, item({ sku: 'x'.repeat(400_000) })),
    arrivedAtMs: T0,
  });
  append(inbox, ...Array.from({ length: 6 }, (_, n) => large(n)));
  expect([pruned(inbox, 99), pruned(inbox, 99), pruned(inbox, 99)]).toEqual([2, 2, 1]);
});

test('publishes rows received here, oldest first and a few at a time, and none from the stream', () => {
  const { inbox } = open();
  const own = (body: Uint8Array): Arrival => ({
    kind: 'delivery',
    body,
    arrivedAtMs: T0,
    isFromStream: false,
  });
  const foreign = (body: Uint8Array): Arrival => ({ ...own(body), isFromStream: true });
  const large = (id: string): Uint8Array => delivery(id, item({ sku: 'x'.repeat(600_000) }));
  const small = (id: string): Uint8Array => delivery(id, item());
  const store = (...arrivals: Arrival[]): void => inbox.append({ ...appended([]), arrivals });
  store(own(small('a')), foreign(small('b')), own(large('c')), own(large('d')), own(small('e')));
  store(foreign(small('a')), foreign(small('f')));
  const first = inbox.unpublished(0);
  expect(first.rows.map(({ seq }) => seq)).toEqual([1, 3, 4]);
  expect(first.rows[0]?.id).toBe(bodyHash(small('a')).toString('hex'));
  expect(first.upToSeq).toBe(4);
  expect(inbox.unpublished(4)).toMatchObject({ rows: [{ seq: 5 }], upToSeq: 6 });
  expect(inbox.unpublished(6)).toEqual({ rows: [], upToSeq: 6 });
});

test('publishes a missed row under an id that no other host uses', () => {
  const { inbox } = open();
  inbox.append({ ...appended([]), missed: [MISSED] });
  const [row] = inbox.unpublished(0).rows;
  expect(row).toMatchObject({ kind: 'missed', id: `${inbox.lastRun.inboxId}-1` });
});

test('bounds its write-ahead log, and checks its files', () => {
  const path = newPath();
  const inbox = openInboxWriter(path);
  onTestFinished(() => inbox.close());
  const large = delivery('large', item({ sku: 'x'.repeat(900_000) }));
  for (let n = 0; n < 60; n += 1) {
    append(inbox, { body: Buffer.concat([large, Buffer.from(String(n))]), arrivedAtMs: T0 });
    inbox.checkpointIfDue();
  }
  expect(statSync(`${inboxPath(path)}-wal`).size).toBeLessThan(40e6);
  inbox.check();
  rmSync(`${inboxPath(path)}.lock`);
  expect(() => inbox.check()).toThrow('by another program');
});

test('is one process’s at a time', () => {
  const path = newPath();
  const inbox = openInboxWriter(path);
  expect(() => openInboxWriter(path)).toThrow(
    expect.objectContaining({
      kind: 'in_use',
      message: expect.stringContaining(`${inboxPath(path)}: stop it first`),
    }),
  );
  inbox.close();
  openInboxWriter(path).close();
});

test('takes over a file that another tool left in another journal mode', () => {
  const path = newPath();
  openInboxWriter(path).close();
  const other = new Database(inboxPath(path));
  expect(other.pragma('journal_mode = DELETE', { simple: true })).toBe('delete');
  other.close();
  const inbox = openInboxWriter(path);
  onTestFinished(() => inbox.close());
  expect(existsSync(`${inboxPath(path)}-wal`)).toBe(true);
  inbox.check();
});

test.each<[string, string, (path: string) => void]>([
  [
    'a database of another program',
    'not_a_database',
    (path) => new Database(path).exec('CREATE TABLE mine (x)').close(),
  ],
  ['a file that is no database', 'inbox_damaged', (path) => writeFileSync(path, 'notes\n'.repeat(1_000))],
])('names %s and does not change it', (_, kindForReaders, make) => {
  const path = newPath();
  make(inboxPath(path));
  const before = readFileSync(inboxPath(path));
  const message = expect.stringContaining(inboxPath(path)) as string;
  expect(() => openInboxWriter(path)).toThrow(expect.objectContaining({ kind: 'not_a_database', message }));
  expect(() => openInboxReader(path)).toThrow(expect.objectContaining({ kind: kindForReaders, message }));
  expect(readFileSync(inboxPath(path)).equals(before)).toBe(true);
});
