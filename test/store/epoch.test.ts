/**
 * When the file at the path does not continue the history served from there, a new epoch begins
 * (docs/architecture.md#epoch).
 */
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { takeUpHistory, type HistoryNews } from '../../src/store/epoch.ts';
import { findFile, foundFile, isAnotherFile } from '../../src/store/file-identity.ts';
import { MarkKeeper } from '../../src/store/mark.ts';
import type { Db } from '../../src/store/open.ts';
import { openWriter } from '../../src/store/open-writer.ts';
import {
  delivery,
  detail,
  DirectWriter,
  item,
  newPath,
  readerDb,
  rows,
  T0,
  temporaryFolder,
  values,
  writerDb,
} from './mirror-file.ts';
import { dump, replay } from './replay.ts';

interface Life {
  readonly news: HistoryNews[];
  readonly epoch: string;
  readonly lastSeq: number;
  readonly lastLogSeq: number;
}

/** One start of the service and its end: a clean stop, or a kill before what it did was marked. */
function live(
  path: string,
  work: (writer: DirectWriter) => void = () => undefined,
  end: 'stop' | 'kill' = 'stop',
): Life {
  const db = openWriter(path);
  try {
    const news = takeUpHistory(db, path, T0);
    work(new DirectWriter(db));
    if (end === 'stop') new MarkKeeper(db, path).keep();
    return { news, ...positionOf(db) };
  } finally {
    db.close();
  }
}

function positionOf(db: Db): Omit<Life, 'news'> {
  const [row] = rows(
    db,
    'SELECT epoch, last_seq AS lastSeq, (SELECT max(seq) FROM log) AS lastLogSeq FROM mirror_status',
  );
  return row as unknown as Omit<Life, 'news'>;
}

const unsuspected = (db: Db): string[] => values(db, 'SELECT variant_id FROM mirror_stock WHERE suspect = 0');

const deliver = (id: string) => (writer: DirectWriter) =>
  void writer.deliver(delivery(id, item({ id: '100', new: Number(id) }), item({ id })));

interface Case {
  readonly path: string;
  /** Copies of the database and its mark as they were between the two lives. */
  readonly backup: string;
  readonly markBackup: string;
}

/** A mirror that has lived twice, with a backup from between. */
function mirror(): Case & { readonly before: Life } {
  const path = newPath();
  const backup = join(temporaryFolder(), 'backup.db');
  const markBackup = `${backup}.mark`;
  live(path, (writer) => {
    writer.read('10', detail('10', [{ id: '100', levels: { 1: 5, 2: 7 } }]), T0);
    writer.read('11', detail('11', [{ id: '110', levels: { 1: 3 } }]), T0);
    expect(unsuspected(writer.db)).toContain('110');
    writer.commit(
      { kind: 'command', name: 'alive', args: { atMs: T0 } },
      {
        kind: 'command',
        name: 'failRead',
        args: {
          productId: '12',
          attempts: 1,
          nextAtMs: T0,
          parked: true,
          error: 'refused',
          failedAtMs: T0,
          answeredAtMs: T0,
        },
      },
      {
        kind: 'command',
        name: 'createRun',
        args: {
          kind: 'operator',
          startedAtMs: T0,
          readAfterMs: T0,
          startedSeq: 1,
          total: 1,
          productIds: null,
        },
      },
      {
        kind: 'command',
        name: 'finishRun',
        args: { id: 9, state: 'done', atMs: T0, error: null, fullSync: true },
      },
    );
    deliver('101')(writer);
  });
  copyFileSync(path, backup);
  copyFileSync(`${path}.mark`, markBackup);
  const before = live(path, deliver('102'));
  return { path, backup, markBackup, before };
}

/** As `cp` does: the file stays, its content changes. */
function overwrite(path: string, from: string): void {
  const { ino } = statSync(path);
  copyFileSync(from, path);
  expect(statSync(path).ino).toBe(ino);
}

function anotherMirror(): string {
  const path = newPath();
  live(path, (writer) => {
    for (let n = 0; n < 50; n += 1) deliver(String(1_000 + n))(writer);
  });
  return path;
}

test.each<[string, (at: Case) => void | string]>([
  ['after a stop', () => undefined],
  [
    'after a kill before anything was marked',
    ({ path }) => {
      live(path, deliver('103'), 'kill');
    },
  ],
  [
    'moved within its file system, mark and all',
    ({ path }) => {
      const moved = join(temporaryFolder(), 'moved.db');
      renameSync(path, moved);
      renameSync(`${path}.mark`, `${moved}.mark`);
      return moved;
    },
  ],
  [
    'moved without its mark',
    ({ path }) => {
      renameSync(path, `${path}.moved`);
      return `${path}.moved`;
    },
  ],
  ['with another mode', ({ path }) => chmodSync(path, 0o600)],
  [
    'vacuumed',
    ({ path }) => {
      const db = new Database(path);
      db.exec('VACUUM');
      db.close();
    },
  ],
  ['without a mark', ({ path }) => rmSync(`${path}.mark`)],
  [
    'with the mark of another database that is behind it',
    ({ path }) => {
      const other = newPath();
      live(other);
      copyFileSync(`${other}.mark`, `${path}.mark`);
    },
  ],
])('the history goes on: %s', (_name, happen) => {
  const { before, ...at } = mirror();
  const path = happen(at) ?? at.path;
  const after = live(path, deliver('104'));
  expect(after.news).toEqual([]);
  expect(after.epoch).toBe(before.epoch);
  expect(live(path)).toMatchObject({ ...after, news: [] });
});

const OLDER = 'the database is older than what was served from it';
const ANOTHER = 'the database is another file than the one served before';
const TOGETHER = 'database and high-water mark were copied together';

const RESTARTS: [string, string, (at: Case) => void | Promise<void>][] = [
  ['an older copy, written over it', OLDER, ({ path, backup }) => overwrite(path, backup)],
  [
    'an older copy, restored into it by SQLite',
    OLDER,
    async ({ path, backup }) => {
      const { ino } = statSync(path);
      const db = new Database(backup);
      await db.backup(path);
      db.close();
      expect(statSync(path).ino).toBe(ino);
    },
  ],
  [
    'an older copy that has given out as much, but knows less of the log',
    OLDER,
    ({ path, backup }) => {
      copyFileSync(path, backup);
      live(path, (writer) => {
        writer.append({ kind: 'listed', atMs: T0, productIds: ['10'], lookup: false });
      });
      overwrite(path, backup);
    },
  ],
  [
    'its own copy in its place',
    ANOTHER,
    ({ path }) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  ],
  ['nothing: it was deleted and only the mark is left', OLDER, ({ path }) => rmSync(path)],
  ['another mirror’s database, written over it', ANOTHER, ({ path }) => overwrite(path, anotherMirror())],
  [
    'the mark of another database that is ahead of it',
    OLDER,
    ({ path }) => copyFileSync(`${anotherMirror()}.mark`, `${path}.mark`),
  ],
];

/** Where a file system keeps no birth times, an inode that is used again cannot be told from the first one. */
const TOLD_BY_BIRTH: typeof RESTARTS = [
  [
    'its own copy, put back after it was deleted, perhaps into the same inode',
    ANOTHER,
    ({ path, backup }) => {
      copyFileSync(path, backup);
      rmSync(path);
      copyFileSync(backup, path);
    },
  ],
  [
    'the whole folder, written over it',
    TOGETHER,
    ({ path, backup, markBackup }) => {
      overwrite(path, backup);
      overwrite(`${path}.mark`, markBackup);
    },
  ],
];
function keepsBirthTimes(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-birth-'));
  const path = join(folder, 'probe.db');
  openWriter(path).close();
  const { isBirthKnown } = findFile(path);
  rmSync(folder, { recursive: true });
  return isBirthKnown;
}

test.each([...RESTARTS, ...(keepsBirthTimes() ? TOLD_BY_BIRTH : [])])(
  'a new epoch begins when the start finds %s',
  async (_name, why, happen) => {
    const { before, ...at } = mirror();
    await happen(at);
    const mark = JSON.parse(readFileSync(`${at.path}.mark`, 'utf8')) as { changeSeq: number };

    const db = openWriter(at.path);
    const [lastSeq] = values<number>(db, 'SELECT last_seq FROM mirror_status');
    const [found] = values<number | null>(db, 'SELECT max(seq) FROM log');
    const news = takeUpHistory(db, at.path, T0);
    const after = positionOf(db);
    expect(news).toMatchObject([{ type: 'new_epoch', why, epoch: after.epoch, lastSeq: after.lastSeq }]);
    expect(after.epoch).toMatch(/^[0-9a-f]{16}$/);
    expect(after.epoch).not.toBe(before.epoch);

    // Whoever does not look at the epoch still sees numbers grow only; the log has no gap.
    expect(after.lastSeq).toBeGreaterThan(Math.max(lastSeq!, mark.changeSeq));
    if (why !== TOGETHER) expect(after.lastSeq).toBeGreaterThan(before.lastSeq);
    expect(after.lastLogSeq).toBe((found ?? 0) + 1);
    expect(new DirectWriter(db).deliver(delivery('new', item({ id: '109' }))).seq).toBe((found ?? 0) + 2);
    expect(values<number>(db, 'SELECT max(seq) FROM mirror_changes')[0]).toBeGreaterThan(after.lastSeq);

    // Everything is read again, as on a first start.
    expect(unsuspected(db)).toEqual([]);
    expect(rows(db, 'SELECT alive_at, last_full_sync_at FROM mirror_status')).toEqual([
      { alive_at: null, last_full_sync_at: null },
    ]);
    expect(values(db, `SELECT count(*) FROM runs WHERE state = 'running'`)).toEqual([0]);
    expect(values(db, 'SELECT count(*) FROM read_failures')).toEqual([0]);
    // The log alone still gives the same tables.
    expect(dump(replay(db, writerDb()))).toBe(dump(db));
    new MarkKeeper(db, at.path).keep();
    db.close();

    // Once.
    expect(live(at.path)).toMatchObject({ epoch: after.epoch, news: [] });
  },
);

test('a new epoch is not later than what is on record, whatever the clock says', () => {
  const { path, backup } = mirror();
  overwrite(path, backup);
  const db = openWriter(path);
  takeUpHistory(db, path, T0 - 3_600_000);
  const [lastAtMs] = values<number>(
    db,
    `SELECT at_ms FROM log WHERE kind <> 'epoch' ORDER BY seq DESC LIMIT 1`,
  );
  expect(values<number>(db, `SELECT at_ms FROM log WHERE kind = 'epoch'`)[0]).toBeGreaterThanOrEqual(
    lastAtMs!,
  );
  expect(unsuspected(db)).toEqual([]);
  db.close();
});

test('a copy from an earlier epoch is known, and so is one from before the kill that followed the new epoch', () => {
  const { path, backup, before } = mirror();
  copyFileSync(path, `${backup}.last`);
  overwrite(path, backup);
  const second = live(path, undefined, 'kill');
  expect(second.epoch).not.toBe(before.epoch);
  // Its last state: all that the first epoch ever gave out, and a longer log than the second one's.
  overwrite(path, `${backup}.last`);
  const third = live(path);
  expect(third.news).toMatchObject([{ type: 'new_epoch', why: OLDER, epochBefore: before.epoch }]);
  expect(third.epoch).not.toBe(second.epoch);
  expect(third.lastSeq).toBeGreaterThan(second.lastSeq);
});

test.each([
  ['empty, as after a power cut', ''],
  ['cut short', '{"version":1,"epoch":"00'],
  ['of another version', '{"version":2}'],
])('a mark that is %s is told of, proves nothing, and is replaced', (_name, text) => {
  const { path, before } = mirror();
  writeFileSync(`${path}.mark`, text);
  const after = live(path);
  expect(after).toMatchObject({ epoch: before.epoch, news: [{ type: 'mark_failed', path: `${path}.mark` }] });
  expect(after.news[0]?.message).toContain('cannot be read');
  expect(live(path).news).toEqual([]);
});

test('a mark that can be neither read nor written stops nothing, also not when history has started again', () => {
  const { path, backup, before } = mirror();
  rmSync(`${path}.mark`);
  mkdirSync(`${path}.mark`);
  const messages = ({ news }: Life): string[] =>
    news.map((one) => (one.type === 'new_epoch' ? one.type : one.message.split(':')[0]!));
  const unusable = [
    'the high-water mark beside the database cannot be read',
    'the high-water mark beside the database cannot be written',
  ];
  const second = live(path);
  expect(messages(second)).toEqual(unusable);
  expect(second.epoch).toBe(before.epoch);

  rmSync(path);
  copyFileSync(backup, path);
  const third = live(path);
  expect(messages(third)).toEqual([unusable[0], 'new_epoch', unusable[1]]);
  const fourth = live(path);
  expect(messages(fourth)).toEqual(unusable);
  expect(fourth.epoch).toBe(third.epoch);
});

test('a mark that an epoch could not replace does not end that epoch', () => {
  const { path, backup, before } = mirror();
  copyFileSync(`${path}.mark`, `${backup}.mark`);
  overwrite(path, backup);
  // The second epoch's mark is lost, the first one's is there again: ahead in the log, and a copy besides.
  const second = live(path);
  expect(second.lastLogSeq).toBeLessThanOrEqual(before.lastLogSeq);
  copyFileSync(`${backup}.mark`, `${path}.mark`);
  expect(live(path)).toMatchObject({ epoch: second.epoch, news: [] });
});

test('an epoch that cannot be committed refuses the start, and the next one begins it', () => {
  const { path, backup, before } = mirror();
  overwrite(path, backup);
  const db = openWriter(path);
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE');
  expect(() => takeUpHistory(db, path, T0)).toThrow(expect.objectContaining({ kind: 'busy' }) as Error);
  db.close();
  other.exec('ROLLBACK');
  other.close();
  expect(live(path).epoch).not.toBe(before.epoch);
});

test('the first start records the file and writes a mark', () => {
  const path = newPath();
  const { news, epoch } = live(path);
  expect(news).toEqual([]);
  const { ino, birthtimeMs } = statSync(path, { bigint: true });
  expect(rows(readerDb(path), 'SELECT file_inode, file_born_at_ms FROM service_state')).toEqual([
    { file_inode: String(ino), file_born_at_ms: Number(birthtimeMs) },
  ]);
  expect(JSON.parse(readFileSync(`${path}.mark`, 'utf8'))).toMatchObject({ epoch, changeSeq: 0, logSeq: 0 });
});

const ns = (ms: number): bigint => BigInt(ms) * 1_000_000n;
const stats = (ino: number, bornAtMs: number, changedAtMs: number) =>
  foundFile({ ino: BigInt(ino), birthtimeNs: ns(bornAtMs), ctimeNs: ns(changedAtMs) });

test.each([
  ['the same inode and birth', stats(1, 100, 200), stats(1, 100, 300), false],
  ['another inode', stats(1, 100, 200), stats(2, 100, 300), true],
  ['another birth in the same inode', stats(1, 100, 200), stats(1, 150, 300), true],
  ['no birth times', stats(1, 0, 200), stats(1, 0, 300), false],
  ['a birth time that is the last change', stats(1, 200, 200), stats(1, 300, 300), false],
  ['birth times that are no longer told', stats(1, 100, 200), stats(1, 300, 300), false],
  ['birth times that were not told before', stats(1, 0, 200), stats(1, 100, 300), false],
])('%s', (_name, recorded, found, isAnother) => {
  expect(isAnotherFile(recorded, found)).toBe(isAnother);
});
