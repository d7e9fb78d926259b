/** The start rule (docs/architecture.md#start). */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { Inbox, inboxPath, openInbox, readMetadata } from '../../src/inbox/inbox.ts';
import {
  ASIDE,
  judge,
  mirrorPosition,
  startMirror,
  type MirrorPosition,
  type StartedMirror,
} from '../../src/mirror/start.ts';
import { openForQueries, serveQueries } from '../../src/mirror/reader/serve-queries.ts';
import { Applier } from '../../src/mirror/writer/applier.ts';
import { openOwnMirror } from '../../src/mirror/writer/serve-apply.ts';
import { openWriter } from '../../src/mirror/file/open-writer.ts';
import { backupDatabase } from '../../src/mirror/file/backup.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { beats, delivery, detail, item, newPath, readInput, T0, values } from './mirror-file.ts';

const INBOX = { epoch: 'e', firstSeq: 10, lastSeq: 20, changeSeq: 100, clockMs: null };
const MIRROR = { epoch: 'e', inboxSeq: 20, changeSeq: 100, isBackup: false, inboxEpoch: null };

test.each<[string, Partial<MirrorPosition>, ReturnType<typeof judge>['start'], string?]>([
  ['as it was left', {}, 'continue'],
  ['behind by rows that the inbox still has', { inboxSeq: 9 }, 'continue'],
  ['ahead of the last heartbeat', { changeSeq: 130 }, 'continue'],
  ['a backup', { isBackup: true }, 'new_epoch', 'the mirror was restored from a backup'],
  [
    'a backup from another inbox',
    { isBackup: true, epoch: 'f' },
    'new_epoch',
    'the mirror was restored from a backup',
  ],
  ['in an epoch that the inbox has not noted', { epoch: 'f', inboxEpoch: 'e' }, 'note'],
  ['of another epoch', { epoch: 'f' }, 'empty', 'the mirror belongs to another inbox'],
  ['beyond the end of the inbox', { inboxSeq: 21 }, 'new_epoch', 'the inbox is older than the mirror'],
  ['behind the oldest row', { inboxSeq: 8 }, 'new_epoch', 'the mirror is older than the inbox reaches back'],
  [
    'below what readers saw',
    { changeSeq: 99 },
    'new_epoch',
    'the mirror is older than what its readers have seen',
  ],
])('judges a mirror that is %s', (_, over, start, why) => {
  expect(judge({ ...MIRROR, ...over }, INBOX)).toEqual(why === undefined ? { start } : { start, why });
});

test('continues a mirror at the end of an empty inbox', () => {
  const inbox = { ...INBOX, firstSeq: 0, lastSeq: 0, changeSeq: 0 };
  expect(judge({ ...MIRROR, inboxSeq: 0, changeSeq: 5 }, inbox)).toEqual({ start: 'continue' });
});

interface Life extends StartedMirror {
  readonly inbox: Inbox;
  readonly position: MirrorPosition;
  deliver(requestId: string, old: number, to: number): void;
  end(): void;
}

function live(path: string, isSuspect = false): Life {
  const inboxDb = openInbox(inboxPath(path));
  let started: StartedMirror;
  try {
    started = startMirror(path, inboxDb, { nowMs: T0, isSuspect, inboxEndSeq: null });
  } catch (error) {
    inboxDb.close();
    throw error;
  }
  const { db, newEpoch } = started;
  const inbox = new Inbox(inboxDb);
  if (newEpoch !== null) inbox.beginEpoch(newEpoch.epoch, newEpoch.changeSeq);
  const applier = new Applier(db, inboxDb);
  const end = (): void => [db, inboxDb].forEach((each: Db) => each.close());
  onTestFinished(end);
  return {
    ...started,
    inbox,
    position: mirrorPosition(db),
    deliver: (requestId, old, to) => {
      inbox.append([{ body: delivery(requestId, item({ old, new: to })), arrivedAtMs: T0 }]);
      while (applier.step([]) !== null);
      inbox.beat({
        atMs: T0,
        clockMs: T0,
        missedSinceMs: null,
        changeSeq: applier.position.changeSeq,
        stream: null,
      });
    },
    end,
  };
}

/** A mirror with two changes, and a copy from before the second. */
function filled(): { readonly path: string; readonly older: string; readonly position: MirrorPosition } {
  const path = newPath();
  const older = `${path}.older`;
  const first = live(path);
  expect(first.newEpoch).toMatchObject({ why: null });
  const read = readInput('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), {
    sentAtMs: T0 - 60_000,
  });
  new Applier(first.db, openedInbox(path)).step([{ kind: 'input', input: read }]);
  first.end();
  const second = live(path);
  second.deliver('a', 5, 4);
  second.end();
  copyFileSync(path, older);
  const third = live(path);
  expect(third.newEpoch).toBeNull();
  third.deliver('b', 4, 3);
  const position = mirrorPosition(third.db);
  third.end();
  return { path, older, position };
}

function openedInbox(path: string): Db {
  const db = openInbox(inboxPath(path));
  onTestFinished(() => void db.close());
  return db;
}

const levels = (db: Db): unknown[] => values(db, 'SELECT qty FROM stock_levels');
const suspects = (db: Db): unknown[] => values(db, 'SELECT count(*) FROM mirror_stock WHERE suspect = 1');

test.each<[string, RegExp, boolean, (path: string, older: string) => unknown]>([
  ['missing', /is missing/, false, (path) => rmSync(path)],
  ['truncated', /is damaged/, false, (path) => truncateSync(path, 40_000)],
  [
    'overwritten with text',
    /is not a SQLite database/,
    false,
    (path) => writeFileSync(path, 'text'.repeat(2_000)),
  ],
  [
    'an older copy',
    /older than what its readers have seen/,
    true,
    (path, older) => copyFileSync(older, path),
  ],
  ['another inbox’s', /belongs to another inbox/, false, (path) => copyFileSync(filled().path, path)],
  [
    'restored from a backup',
    /restored from a backup/,
    true,
    async (path, older) => {
      const options = { force: true, onProgress: () => undefined, interrupted: new AbortController().signal };
      await backupDatabase(path, older, options);
      copyFileSync(older, path);
    },
  ],
])('begins a new epoch above every number seen if the mirror is %s', async (_, why, isKept, change) => {
  const { path, older, position } = filled();
  await change(path, older);
  const found = existsSync(path) ? readFileSync(path) : null;

  const life = live(path, true);
  expect(life.newEpoch?.why).toMatch(why);
  expect(life.newEpoch?.movedTo).toBe(isKept || found === null ? null : path + ASIDE);
  if (!isKept && found !== null) expect(readFileSync(path + ASIDE).equals(found)).toBe(true);
  expect(life.position).toMatchObject({ epoch: life.newEpoch?.epoch, isBackup: false });
  expect(life.position.epoch).not.toBe(position.epoch);
  expect(life.position.changeSeq).toBeGreaterThanOrEqual(position.changeSeq + 1_000_000);
  expect(levels(life.db)).toHaveLength(isKept ? 1 : 0);
  expect(suspects(life.db)).toEqual([isKept ? 1 : 0]);
  life.deliver('c', 3, 2);
  expect(levels(life.db)).toEqual([2]);
  expect(mirrorPosition(life.db).changeSeq).toBeGreaterThan(life.position.changeSeq);
  life.end();
  expect(live(path).newEpoch).toBeNull();
});

test('begins a new epoch and moves the mirror aside if the inbox is lost', () => {
  const { path, position } = filled();
  for (const side of ['', '-wal', '-shm']) rmSync(inboxPath(path) + side, { force: true });
  const life = live(path);
  expect(life.newEpoch).toMatchObject({ why: 'the mirror belongs to another inbox', movedTo: path + ASIDE });
  expect(life.position.changeSeq).toBeGreaterThan(position.changeSeq);
});

test('applies what arrived since the inbox was restored', () => {
  const { path, position } = filled();
  const inboxDb = openedInbox(path);
  inboxDb.exec('DELETE FROM inbox WHERE seq > 1');
  new Inbox(inboxDb).append(['c', 'd'].map((id) => ({ body: delivery(id, item()), arrivedAtMs: T0 })));
  const { db } = startMirror(path, inboxDb, { nowMs: T0, isSuspect: false, inboxEndSeq: 1 });
  expect([position.inboxSeq, mirrorPosition(db).inboxSeq]).toEqual([2, 0]);
  db.close();
});

test.each(['inbox', 'mirror'])('suspects rows read by a clock that was ahead, as the %s says', (noted) => {
  const { path } = filled();
  const inboxDb = openedInbox(path);
  inboxDb.exec('UPDATE metadata SET change_seq = 1000');
  if (noted === 'inbox') inboxDb.exec(`UPDATE metadata SET clock_ms = ${T0 + 600_000}`);
  else new Database(path).exec(`UPDATE service_state SET clock_ms = ${T0 + 600_000}`).close();
  const { db } = startMirror(path, inboxDb, { nowMs: T0, isSuspect: false, inboxEndSeq: null });
  db.exec(`UPDATE products SET read_at_ms = ${T0 + 600_000}`);
  expect(suspects(db)).toEqual([1]);
  db.close();
});

test('notes the epoch that a killed start began', () => {
  const { path } = filled();
  rmSync(path);
  const killed = startMirror(path, openedInbox(path), { nowMs: T0, isSuspect: false, inboxEndSeq: null });
  killed.db.close();
  const life = live(path);
  const { epoch, changeSeq } = killed.newEpoch ?? {};
  expect(life.newEpoch).toMatchObject({ epoch, changeSeq, movedTo: null });
  life.end();
  expect(live(path).newEpoch).toBeNull();
});

test('begins a new epoch if the inbox never noted a change number', () => {
  const path = newPath();
  const first = live(path);
  first.inbox.append([{ arrivedAtMs: T0, body: Buffer.from('{}') }]);
  first.end();
  for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true });
  const life = live(path);
  expect(life.newEpoch).toMatchObject({ why: null, changeSeq: 0 });
  expect(life.position.epoch).not.toBe(first.position.epoch);
});

test('removes the unfinished file of a killed first start', () => {
  const path = newPath();
  openWriter(`${path}.new`).close();
  const life = live(path);
  expect(life.newEpoch).toMatchObject({ why: null });
  expect(existsSync(`${path}.new`)).toBe(false);
  expect(values(life.db, 'SELECT epoch FROM mirror_status')).toEqual([readMetadata(openedInbox(path)).epoch]);
  life.end();
});

test('is not live by the heartbeat of the previous run', () => {
  const path = newPath();
  const atMs = Date.now();
  const killed = live(path);
  beats(killed.db, atMs);
  const state = ({ db }: Life) => values(db, 'SELECT state FROM mirror_status');
  expect(state(killed)).toEqual(['live']);
  killed.end();
  const next = live(path);
  expect(state(next)).toEqual(['stale']);
  beats(next.db, atMs);
  expect(state(next)).toEqual(['live']);
  next.end();
});

test('keeps only the newest file moved aside', () => {
  const { path } = filled();
  for (const text of ['first'.repeat(1_000), 'second'.repeat(1_000)]) {
    writeFileSync(path, text);
    live(path).end();
    expect(readFileSync(path + ASIDE, 'utf8')).toBe(text);
  }
});

test.each<[string, string, (page: Buffer) => unknown]>([
  ['a page', 'stock_levels', (page) => page.fill(0x5a)],
  // The last byte of the only entry: its rowid.
  [
    'a key of an index',
    'stock_levels_change_seq',
    (page) => page.writeUInt8((page.at(-1) ?? 0) ^ 0x40, 4_095),
  ],
])('finds damage inside a file at a suspicious start: %s', (_, name, damage) => {
  const { path } = filled();
  const db = new Database(path);
  const page = values<number>(db, `SELECT rootpage FROM sqlite_master WHERE name = '${name}'`)[0] ?? 0;
  db.close();
  const bytes = readFileSync(path);
  damage(bytes.subarray((page - 1) * 4_096, page * 4_096));
  writeFileSync(path, bytes);
  const trusting = live(path);
  expect(trusting.newEpoch).toBeNull();
  trusting.end();
  expect(live(path, true).newEpoch).toMatchObject({
    why: expect.stringContaining('damaged'),
    movedTo: path + ASIDE,
  });
});

test('saves what a deleted write-ahead log holds', () => {
  const { path } = filled();
  const own = openOwnMirror(path, { inboxEndSeq: null, isSuspect: false });
  own.db.exec('UPDATE service_state SET alive_at_ms = 7');
  rmSync(`${path}-wal`);
  expect(() => own.check()).toThrow('another program deleted');
  own.close({ isOrderly: false });
  expect(values(new Database(path), 'SELECT alive_at_ms FROM service_state')).toEqual([7]);
});

test('does not blame the mirror for a damaged inbox', async () => {
  const { path } = filled();
  openedInbox(path).pragma('wal_checkpoint(TRUNCATE)');
  writeFileSync(inboxPath(path), readFileSync(inboxPath(path)).fill(0x5a, 4_096));
  const answer = new Promise((resolve) => {
    const ask = (listener: (request: unknown) => void): void =>
      listener({ id: 1, name: 'query', args: { name: 'deliveryAt', args: { seq: 1 } } });
    const owner = { post: resolve, onMessage: ask, take: () => undefined, close: () => undefined };
    serveQueries(owner as Parameters<typeof serveQueries>[0], () => openForQueries(path));
  });
  const error = { kind: 'unreachable', message: expect.stringContaining(inboxPath(path)) as string };
  expect(await answer).toMatchObject({ error });
});

function hold(path: string, by: string): void {
  const holder = new Database(path);
  onTestFinished(() => void holder.close());
  holder.exec(by);
}

type Unusable = readonly [name: string, kind: string, change: (path: string) => unknown];

/** Root may write any file. */
const READ_ONLY: readonly Unusable[] =
  process.getuid?.() === 0
    ? []
    : [['a file that this user may not write', 'unreachable', (path) => chmodSync(path, 0o400)]];

test.each<Unusable>([
  ...READ_ONLY,
  [
    'a database of another program',
    'not_a_database',
    (path) => {
      rmSync(path);
      new Database(path).exec('CREATE TABLE mine (x)').close();
    },
  ],
  [
    'a file that another program holds alone',
    'busy',
    (path) => hold(path, 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE'),
  ],
  ['a file whose write lock another program holds', 'busy', (path) => hold(path, 'BEGIN IMMEDIATE')],
])('leaves and names %s', (_, kind, change) => {
  const { path } = filled();
  change(path);
  const before = readFileSync(path);
  expect(() => live(path)).toThrow(expect.objectContaining({ kind, message: expect.stringContaining(path) }));
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(existsSync(path + ASIDE)).toBe(false);
});

test('does not move a foreign file aside at the first start', () => {
  const path = newPath();
  writeFileSync(path, 'notes\n'.repeat(1_000));
  expect(() => live(path)).toThrow(expect.objectContaining({ kind: 'not_a_database' }));
  expect(existsSync(path + ASIDE)).toBe(false);
});
