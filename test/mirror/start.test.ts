/** The start rule (docs/architecture.md#start). */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { readMirrorNote, writeMirrorNote } from '../../src/inbox/mirror-note.ts';
import {
  mirrorPosition,
  whyNewEpoch,
  type InboxPosition,
  type MirrorPosition,
} from '../../src/mirror/new-epoch.ts';
import {
  startMirror,
  type DamagedFile,
  type StartOptions,
  type StartedMirror,
} from '../../src/mirror/start.ts';
import { openForQueries } from '../../src/mirror/reader/open-for-queries.ts';
import { Reader } from '../../src/mirror/reader/reader.ts';
import { Applier } from '../../src/mirror/writer/applier.ts';
import { openOwnMirror } from '../../src/mirror/writer/serve-apply.ts';
import { openWriter } from '../../src/mirror/file/open-writer.ts';
import { backupDatabase } from '../../src/mirror/file/backup.ts';
import { ownFile } from '../../src/sqlite/database-files.ts';
import { InboxWriter } from '../../src/receiver/inbox-writer.ts';
import { openForWriting } from '../../src/receiver/open-inbox.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { appended, appendTo, unlocked } from './direct-writer.ts';
import { beats, delivery, detail, item, newPath, readInput, T0, values } from './mirror-file.ts';

const INBOX: InboxPosition = {
  inboxId: 'i',
  firstSeq: 10,
  lastSeq: 20,
  appliedRowAtMs: 7,
  latestUnappliedAtMs: null,
  readAtMs: T0,
};
const MIRROR: MirrorPosition = {
  epoch: 'e',
  changeSeq: 100,
  inboxId: 'i',
  inboxSeq: 20,
  inboxRowAtMs: 7,
  clockMs: T0,
  prunableSeq: 0,
  isBackup: false,
};
const HANDED_OUT = { epoch: 'e', changeSeq: 100 };

test.each<[string, Partial<MirrorPosition>, string | null]>([
  ['as it was left', {}, null],
  ['behind by rows that the inbox still has', { inboxSeq: 9, inboxRowAtMs: null }, null],
  ['ahead of the note of its numbers', { changeSeq: 130 }, null],
  ['a backup', { isBackup: true }, 'the mirror was restored from a backup'],
  ['another inbox’s', { inboxId: 'j' }, 'the mirror belongs to another inbox'],
  ['beyond the end of the inbox', { inboxSeq: 21 }, 'the inbox is older than the mirror'],
  ['behind the oldest row', { inboxSeq: 8 }, 'the mirror is older than the inbox reaches back'],
  ['at a row that is another one now', { inboxRowAtMs: 8 }, 'the inbox was replaced by an older copy'],
  ['below what readers saw', { changeSeq: 99 }, 'the mirror is older than what its readers have seen'],
  ['of an earlier epoch', { epoch: 'd' }, 'the mirror is older than what its readers have seen'],
  ['stamped by a clock a little ahead', { clockMs: T0 + 1_000 }, null],
  [
    'stamped by a clock that was ahead',
    { clockMs: T0 + 1_001 },
    'the machine’s clock was ahead when the mirror wrote its rows',
  ],
])('judges a mirror that is %s', (_, over, why) => {
  expect(whyNewEpoch({ ...MIRROR, ...over }, INBOX, HANDED_OUT, T0)).toBe(why);
});

test.each([
  ['a little', 1_000, null],
  ['far', 1_001, 'the machine’s clock was ahead when the receiver wrote its rows'],
])('judges an inbox with rows to apply that are %s ahead', (_, aheadMs, why) => {
  const inbox = { ...INBOX, latestUnappliedAtMs: T0 + aheadMs };
  expect(whyNewEpoch(MIRROR, inbox, HANDED_OUT, T0)).toBe(why);
});

test('continues a mirror at the end of an empty inbox, and without a note of its numbers', () => {
  const inbox = { ...INBOX, firstSeq: 0, lastSeq: 0, appliedRowAtMs: null };
  expect(whyNewEpoch({ ...MIRROR, inboxSeq: 0, inboxRowAtMs: null }, inbox, null, T0)).toBeNull();
});

interface Life extends StartedMirror {
  readonly position: MirrorPosition;
  deliver(requestId: string, old: number, to: number): void;
  end(): void;
}

/** An opening that takes `tookMs`. */
const openedAt = (nowMs: number, tookMs = 0): StartOptions => ({
  nowMs,
  now: () => nowMs + tookMs,
  damaged: null,
});

function live(path: string, damaged: DamagedFile | null = null, nowMs = T0): Life {
  const inboxDb = openForWriting(inboxPath(path));
  let started: StartedMirror;
  try {
    started = startMirror(path, inboxDb, { nowMs, now: () => nowMs, damaged });
  } catch (error) {
    inboxDb.close();
    throw error;
  }
  const { db } = started;
  const inbox = new InboxWriter(unlocked(inboxDb));
  const applier = new Applier(db, inboxDb);
  const end = (): void => [db, inboxDb].forEach((each: Db) => each.close());
  onTestFinished(end);
  return {
    ...started,
    position: mirrorPosition(db),
    deliver: (requestId, old, to) => {
      // Each later than the one before.
      const update_time = T0 - old;
      const body = delivery(requestId, item({ old, new: to, update_time }));
      inbox.append(appended([{ body, arrivedAtMs: T0 }]));
      while (applier.step([]) !== null);
      writeMirrorNote(path, { ...mirrorPosition(db), inboxId: mirrorPosition(db).inboxId ?? '' });
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
  const db = openForWriting(inboxPath(path));
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
  ['another inbox’s', /belongs to another inbox/, true, (path) => copyFileSync(filled().path, path)],
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

  const life = live(path, 'mirror');
  expect(life.newEpoch?.why).toMatch(why);
  expect(life.newEpoch?.movedTo).toBe(isKept || found === null ? null : ownFile(path, 'aside'));
  if (!isKept && found !== null) expect(readFileSync(ownFile(path, 'aside')).equals(found)).toBe(true);
  expect(life.position).toMatchObject({ epoch: life.newEpoch?.epoch, isBackup: false });
  expect(life.position.epoch).not.toBe(position.epoch);
  expect(life.position.changeSeq).toBeGreaterThanOrEqual(position.changeSeq + 1_000_000);
  expect(life.position.inboxSeq).toBe(position.inboxSeq);
  expect(levels(life.db)).toHaveLength(isKept ? 1 : 0);
  expect(suspects(life.db)).toEqual([isKept ? 1 : 0]);
  life.deliver('c', 3, 2);
  expect(levels(life.db)).toEqual([2]);
  expect(mirrorPosition(life.db).changeSeq).toBeGreaterThan(life.position.changeSeq);
  life.end();
  expect(live(path).newEpoch).toBeNull();
});

test('keeps the rows, suspect, next to a new inbox', () => {
  const { path, position } = filled();
  for (const side of ['', '-wal', '-shm']) rmSync(inboxPath(path) + side, { force: true });
  const life = live(path);
  expect(life.newEpoch).toMatchObject({ why: 'the mirror belongs to another inbox', movedTo: null });
  expect(life.position.changeSeq).toBeGreaterThan(position.changeSeq);
  expect([levels(life.db), suspects(life.db)]).toEqual([[3], [1]]);
});

test('finds an inbox that was replaced by an older copy and has grown since', () => {
  const { path } = filled();
  const inboxDb = openedInbox(path);
  inboxDb.exec('DELETE FROM inbox WHERE seq > 1');
  const later = ['c', 'd'].map((id) => ({ body: delivery(id, item()), arrivedAtMs: T0 + 5 }));
  new InboxWriter(unlocked(inboxDb)).append(appended(later));
  const { db, newEpoch } = startMirror(path, inboxDb, openedAt(T0));
  expect(newEpoch?.why).toBe('the inbox was replaced by an older copy');
  expect(mirrorPosition(db).inboxSeq).toBe(3);
  db.close();
});

const DAY_MS = 24 * 60 * 60_000;

test('sets instants of a clock that was ahead to the present, and suspects every row', () => {
  const { path } = filled();
  const ahead = new Database(path);
  ahead.exec(`
    UPDATE service_state SET clock_ms = ${T0 + DAY_MS};
    UPDATE products SET read_at_ms = ${T0 + DAY_MS}, read_until_ms = ${T0 + DAY_MS};
    UPDATE stock_levels SET event_at_ms = ${T0 + DAY_MS}, as_of_ms = ${T0 + DAY_MS}, verified_at_ms = ${T0 + DAY_MS};
    UPDATE changes SET recorded_at_ms = ${T0 + DAY_MS};
    UPDATE mirror_state SET trusted_after_ms = ${T0 + DAY_MS}, offset_floor_ms = ${-DAY_MS};
  `);
  ahead.close();
  const life = live(path);
  const { db, newEpoch } = life;
  expect(newEpoch?.why).toContain('clock was ahead');
  expect(suspects(db)).toEqual([1]);
  expect(values(db, 'SELECT as_of FROM mirror_stock')).toEqual([T0]);
  expect(values(db, 'SELECT max(recorded_at) FROM mirror_changes')).toEqual([T0]);
  expect(values(db, 'SELECT trusted_after_ms FROM mirror_state')).toEqual([T0 + 2_000]);
  expect(values(db, 'SELECT offset_floor_ms FROM mirror_state')).toEqual([null]);
  life.end();
});

/** Two deliveries that no mirror has applied: the clock stepped back between them. */
function deliverAhead(path: string): void {
  const inboxDb = openForWriting(inboxPath(path));
  const inbox = new InboxWriter(unlocked(inboxDb));
  for (const arrivedAtMs of [T0 + DAY_MS, T0]) {
    const body = delivery(`at ${arrivedAtMs}`, item({ old: 3, new: 2 }));
    inbox.append(appended([{ body, arrivedAtMs }]));
  }
  inboxDb.close();
}

test('applies no delivery that arrived by a clock that was ahead, and reads everything instead', () => {
  const { path, position } = filled();
  deliverAhead(path);
  const life = live(path);
  expect(life.newEpoch?.why).toBe('the machine’s clock was ahead when the receiver wrote its rows');
  expect(life.position.inboxSeq).toBe(position.inboxSeq + 2);
  expect(suspects(life.db)).toEqual([1]);
  life.end();
  expect(live(path).newEpoch).toBeNull();
});

test('begins after such deliveries as the first mirror, too', () => {
  const path = newPath();
  deliverAhead(path);
  expect(live(path).position.inboxSeq).toBe(2);
});

const OPENED_IN_MS = 3 * 60_000;

test.each([
  ['before the end of the opening', -1_000, OPENED_IN_MS + 2_000],
  ['by a clock a little ahead of it', 1_000, OPENED_IN_MS + 3_000],
])('trusts no read from before a skipped delivery that arrived %s', (_, afterMs, trustedMs) => {
  const { path, position } = filled();
  rmSync(path);
  appendTo(path, delivery('c', item({ old: 3, new: 2 })), T0 + OPENED_IN_MS + afterMs);
  const { db } = startMirror(path, openedInbox(path), openedAt(T0, OPENED_IN_MS));
  onTestFinished(() => void db.close());
  expect(mirrorPosition(db).inboxSeq).toBe(position.inboxSeq + 1);
  expect(values(db, 'SELECT trusted_after_ms FROM mirror_state')).toEqual([T0 + trustedMs]);
});

test('continues with deliveries that arrived while the file was opened for long', () => {
  const { path } = filled();
  appendTo(path, delivery('c', item({ old: 3, new: 2 })), T0 + OPENED_IN_MS);
  const { db, newEpoch } = startMirror(path, openedInbox(path), openedAt(T0, OPENED_IN_MS));
  onTestFinished(() => void db.close());
  expect(newEpoch).toBeNull();
});

/** The first start with a clock, whose run was killed before its first heartbeat. */
const KILLED: readonly [string, (path: string, nowMs: number) => void][] = [
  [
    'began an epoch',
    (path, nowMs) => {
      rmSync(path);
      startMirror(path, openedInbox(path), openedAt(nowMs)).db.close();
    },
  ],
  ['continued', (path, nowMs) => startMirror(path, openedInbox(path), openedAt(nowMs)).db.close()],
];

test.each(KILLED)('recognises the clock of a start that %s and was killed at once', (_, start) => {
  const { path } = filled();
  start(path, T0 + DAY_MS);
  const life = live(path);
  expect(life.newEpoch?.why).toContain('clock was ahead');
  expect(values(life.db, 'SELECT trusted_after_ms FROM mirror_state')).toEqual([T0 + 2_000]);
  life.end();
});

/** Instants that a start leaves in the future, and why. */
const LEFT: Readonly<Record<string, string>> = {
  'changes.update_time_ms': 'store time',
  'mirror_state.lateness_ms': 'a duration',
  'mirror_state.mean_gap_ms': 'a duration',
  'mirror_state.stamped_until_ms': 'store time',
  'products.update_time_ms': 'store time',
  'stock_levels.event_time_ms': 'store time',
  'stock_levels.read_hi_ms': 'store time',
  'stock_levels.read_lo_ms': 'store time',
  'variants.total_hi_ms': 'store time',
};

test('leaves no instant of a clock that was ahead in any column', () => {
  const { path } = filled();
  const ahead = new Database(path);
  ahead.exec(`
    INSERT INTO gaps (variant_id, warehouse_id, inbox_seq, opened_at_ms, due_at_ms, from_qty, to_qty)
    VALUES ('100', '1', 1, 1, 1, 5, 4);
    INSERT INTO dead_letters (inbox_seq, arrived_at_ms, problem) VALUES (1, 1, 'none');
    INSERT INTO runs (
      kind, state, started_at_ms, read_after_ms, list_offset, list_done, total, done, failed
    ) VALUES ('operator', 'running', 1, 1, 0, 0, 0, 0, 0);
    INSERT OR REPLACE INTO due_reads (
      product_id, reason, priority, is_suspect, made_at_ms, first_made_at_ms, not_before_ms
    ) VALUES ('10', 'operator', 1, 1, 1, 1, 1);
  `);
  const columns = ahead
    .prepare<[], { readonly table: string; readonly column: string }>(
      `SELECT schema.name AS "table", info.name AS "column"
       FROM sqlite_schema AS schema, pragma_table_info(schema.name) AS info
       WHERE schema.type = 'table' AND info.name LIKE '%\\_ms' ESCAPE '\\'
       ORDER BY schema.name, info.name`,
    )
    .all();
  const valueOf = (db: Db, { table, column }: (typeof columns)[number]): unknown =>
    values(db, `SELECT max(${column}) FROM ${table}`)[0];
  for (const each of columns) {
    ahead.exec(`UPDATE ${each.table} SET ${each.column} = ${T0 + DAY_MS}`);
    expect(valueOf(ahead, each), `${each.table} has a row`).toBe(T0 + DAY_MS);
  }
  ahead.close();
  const life = live(path);
  const left = columns.filter((each) => Number(valueOf(life.db, each)) > T0 + 2_000);
  expect(left.map(({ table, column }) => `${table}.${column}`)).toEqual(Object.keys(LEFT));
  life.end();
});

test('continues the epoch that a killed start began', () => {
  const { path } = filled();
  const [old = { epoch: '', changeSeq: 0 }] = [readMirrorNote(path) ?? undefined];
  rmSync(path);
  const killed = startMirror(path, openedInbox(path), openedAt(T0));
  killed.db.close();
  expect(readMirrorNote(path)).toMatchObject({
    epoch: killed.newEpoch?.epoch,
    changeSeq: killed.newEpoch?.changeSeq,
  });
  expect(live(path).newEpoch).toBeNull();
  // Killed before the note: one more epoch begins, above the numbers of both.
  writeMirrorNote(path, { inboxId: 'i', prunableSeq: 0, ...old });
  const again = live(path);
  expect(again.position.changeSeq).toBeGreaterThan(killed.newEpoch?.changeSeq ?? Infinity);
});

test('begins a new epoch if its numbers were never noted', () => {
  const path = newPath();
  const first = live(path);
  first.end();
  for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true });
  rmSync(ownFile(path, 'numbers'));
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
  expect(values(life.db, 'SELECT epoch FROM mirror_status')).toEqual([life.newEpoch?.epoch]);
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
    expect(readFileSync(ownFile(path, 'aside'), 'utf8')).toBe(text);
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
  expect(live(path, 'mirror').newEpoch).toMatchObject({
    why: expect.stringContaining('damaged'),
    movedTo: ownFile(path, 'aside'),
  });
});

test('saves the rows of a deleted write-ahead log', () => {
  const { path } = filled();
  const own = openOwnMirror(path, openedAt(T0));
  own.db.exec('UPDATE service_state SET alive_at_ms = 7');
  rmSync(`${path}-wal`);
  expect(() => own.check()).toThrow('by another program');
  own.close({ isOrderly: false });
  expect(values(new Database(path), 'SELECT alive_at_ms FROM service_state')).toEqual([7]);
});

test('notices that the inbox was replaced while the mirror was opened', () => {
  const { path } = filled();
  const replacement = newPath();
  openedInbox(replacement).close();
  const now = (): number => {
    if (existsSync(inboxPath(replacement))) renameSync(inboxPath(replacement), inboxPath(path));
    return T0;
  };
  const own = openOwnMirror(path, { ...openedAt(T0), now });
  onTestFinished(() => own.close({ isOrderly: false }));
  expect(() => own.check()).toThrow('replaced');
});

test('finds a running mirror damaged once its file has shrunk', () => {
  const { path } = filled();
  const own = openOwnMirror(path, openedAt(T0));
  onTestFinished(() => own.close({ isOrderly: false }));
  own.check();
  own.db.exec('CREATE TABLE growth AS SELECT zeroblob(100000); DROP TABLE growth');
  own.db.pragma('wal_checkpoint(TRUNCATE)');
  own.check();
  // Only what was added since the start: the file as it was then does not show it.
  truncateSync(path, statSync(path).size - 4_096);
  expect(() => own.check()).toThrow(expect.objectContaining({ kind: 'damaged' }));
});

/** Its file is one leaf page after the other; the pages of neither end are damaged. */
function damageMiddleRows(path: string): void {
  const db = openForWriting(inboxPath(path));
  const root = values<number>(db, `SELECT rootpage FROM sqlite_master WHERE name = 'inbox'`)[0] ?? 0;
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  const bytes = readFileSync(inboxPath(path));
  const at = (root - 1) * 4_096;
  // The second cell of an interior page, whose header has 12 bytes, begins with the number of the second child.
  const second = bytes.readUInt32BE(at + bytes.readUInt16BE(at + 14));
  writeFileSync(inboxPath(path), bytes.fill(0x5a, (second - 1) * 4_096, second * 4_096));
}

const deliveries = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    body: delivery(`unapplied ${n}`, item({ sku: 'x'.repeat(1_000) })),
    arrivedAtMs: T0 + n,
  }));

test('begins a new epoch at the end of an inbox with a row that cannot be read, and names the right file', () => {
  const { path } = filled();
  const inbox = new InboxWriter(unlocked(openedInbox(path)));
  inbox.append(appended(deliveries(40)));
  inbox.close();
  damageMiddleRows(path);
  const fault = expect.objectContaining({
    kind: 'inbox_damaged',
    message: expect.stringContaining(`${inboxPath(path)} is damaged`),
  });
  expect(() => live(path)).toThrow(fault);
  const life = live(path, 'inbox');
  expect(life.newEpoch).toMatchObject({ why: 'the inbox has a row that cannot be read', movedTo: null });
  expect(life.position.inboxSeq).toBe(42);
  expect([levels(life.db), suspects(life.db)]).toEqual([[3], [1]]);
  life.end();
  expect(live(path).newEpoch).toBeNull();
});

test('fails over a row that cannot be read without blaming the mirror', () => {
  const { path } = filled();
  const inboxDb = openedInbox(path);
  new InboxWriter(unlocked(inboxDb)).append(appended(deliveries(40)));
  const own = openOwnMirror(path, openedAt(T0));
  onTestFinished(() => own.close({ isOrderly: false }));
  damageMiddleRows(path);
  const step = () => {
    while (own.applier.step([]) !== null);
  };
  expect(step).toThrow(expect.objectContaining({ kind: 'inbox_damaged' }));
});

test('releases a damaged row of the inbox, so that the receiver meets the damage', () => {
  const { path } = filled();
  const inbox = new InboxWriter(unlocked(openedInbox(path)));
  inbox.append(appended(deliveries(40)));
  const first = live(path);
  first.deliver('last', 3, 2);
  first.end();
  inbox.close();
  damageMiddleRows(path);
  const life = live(path);
  const prune = { kind: 'command', name: 'prune', args: { beforeMs: T0 + DAY_MS, limit: 500 } } as const;
  const [result] = new Applier(life.db, openedInbox(path)).step([prune])?.results ?? [];
  expect(result).toMatchObject({ ok: true });
  expect(values(life.db, 'SELECT inbox_prunable_seq FROM service_state')).toEqual([42]);
});

test('does not blame the mirror for a damaged inbox', () => {
  const { path } = filled();
  openedInbox(path).pragma('wal_checkpoint(TRUNCATE)');
  writeFileSync(inboxPath(path), readFileSync(inboxPath(path)).fill(0x5a, 4_096));
  const reader = new Reader(() => openForQueries(path));
  onTestFinished(() => reader.close());
  const error = { kind: 'unreachable', message: expect.stringContaining(inboxPath(path)) as string };
  expect(() => reader.answer('deliveryAt', { seq: 1 })).toThrow(expect.objectContaining(error));
  expect(() => reader.answer('stateSample', undefined)).toThrow(expect.objectContaining(error));
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
  expect(existsSync(ownFile(path, 'aside'))).toBe(false);
});

test('moves a damaged mirror aside although the note of its numbers is lost, too', () => {
  const { path } = filled();
  truncateSync(path, 40_000);
  rmSync(ownFile(path, 'numbers'));
  const started = live(path);
  expect(started.newEpoch).toMatchObject({
    why: expect.stringContaining('is damaged'),
    movedTo: ownFile(path, 'aside'),
  });
  started.end();
});

test('does not move a foreign file aside at the first start', () => {
  const path = newPath();
  writeFileSync(path, 'notes\n'.repeat(1_000));
  expect(() => live(path)).toThrow(expect.objectContaining({ kind: 'not_a_database' }));
  expect(existsSync(ownFile(path, 'aside'))).toBe(false);
});
