/**
 * When the event log at the path does not continue the history served from there, a new epoch begins; otherwise the mirror
 * is made of it, whatever became of its file
 * (docs/architecture.md#epoch).
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
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
import { expect, onTestFinished, test } from 'vitest';
import { takeUpHistory, type EpochNews, type HistoryNews } from '../../src/event-log/epoch.ts';
import { EventLog } from '../../src/event-log/event-log.ts';
import { eventLogPath, openLogForAppending } from '../../src/event-log/open-log.ts';
import { openOwnLog } from '../../src/event-log/own-log.ts';
import { findFile, foundFile, isAnotherFile } from '../../src/sqlite/file-identity.ts';
import { HighWaterMarkKeeper, type Position } from '../../src/event-log/high-water-mark.ts';
import { lookUpPosition, type MirrorPosition } from '../../src/event-log/mirror-position.ts';
import { openReader, type Db } from '../../src/sqlite/open.ts';
import { openWriter } from '../../src/mirror/file/open-writer.ts';
import { nameEpoch } from '../../src/mirror/writer/own-mirror.ts';
import { present } from '../shared/present.ts';
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
} from '../mirror/mirror-file.ts';
import { dump } from '../mirror/replay.ts';

interface Life {
  readonly news: HistoryNews[];
  readonly epoch: string;
  readonly lastSeq: number;
  readonly lastLogSeq: number;
}

/**
 * One start of the mirror and its end: a clean stop, a kill before what it did was marked, or a kill as soon as the
 * event log was open.
 */
function live(
  path: string,
  work: (writer: DirectWriter) => void = () => undefined,
  end: 'stop' | 'kill' | 'kill at once' = 'stop',
): Life {
  const own = openOwnLog(path);
  const news = [...own.news];
  const { epoch } = own.log.history();
  let life = { epoch, lastSeq: 0, lastLogSeq: own.log.lastSeq };
  if (end !== 'kill at once') {
    const db = openWriter(path);
    nameEpoch(db, own.db);
    const writer = new DirectWriter(db, own.db);
    while (writer.writer.projection.step([]).entries > 0);
    work(writer);
    const unwritten = end === 'stop' ? new HighWaterMarkKeeper(db, path).keep() : null;
    if (unwritten !== null) news.push(unwritten);
    life = positionOf(writer);
    db.close();
  }
  own.db.close();
  own.release();
  return { news, ...life };
}

function positionOf({ db, writer }: DirectWriter): Omit<Life, 'news'> {
  const [row] = rows(db, 'SELECT epoch, last_seq AS lastSeq FROM mirror_status');
  return { ...(row as { epoch: string; lastSeq: number }), lastLogSeq: writer.lastSeq };
}

const unsuspected = (db: Db): string[] => values(db, 'SELECT variant_id FROM mirror_stock WHERE suspect = 0');

const deliver = (id: string) => (writer: DirectWriter) =>
  void writer.deliver(delivery(id, item({ id: '100', new: Number(id) }), item({ id })));

interface Case {
  readonly path: string;
  /** Of the event log. */
  readonly log: string;
  /** Copies of the mirror, its event log and its mark as they were between the two lives. */
  readonly backup: string;
  readonly logBackup: string;
  readonly markBackup: string;
}

/** A mirror that has lived twice, with a backup from between. */
function mirror(): Case & { readonly before: Life } {
  const path = newPath();
  const log = eventLogPath(path);
  const backup = join(temporaryFolder(), 'backup.db');
  const [logBackup, markBackup] = [eventLogPath(backup), `${backup}.mark`];
  live(path, (writer) => {
    writer.read('10', detail('10', [{ id: '100', levels: { 1: 5, 2: 7 } }]), T0);
    writer.read('11', detail('11', [{ id: '110', levels: { 1: 3 } }]), T0);
    expect(unsuspected(writer.db)).toContain('110');
    writer.giveUp('12');
    writer.beginRun({ run: 'operator' });
    writer.endRun(9, { fullSync: true });
    writer.writer.log.beat(T0);
    deliver('101')(writer);
  });
  copyFileSync(path, backup);
  copyFileSync(log, logBackup);
  copyFileSync(`${path}.mark`, markBackup);
  const before = live(path, deliver('102'));
  return { path, log, backup, logBackup, markBackup, before };
}

function dumpAt(path: string): string {
  const db = openReader(path);
  try {
    return dump(db);
  } finally {
    db.close();
  }
}

function prune(path: string, belowSeq: number): void {
  const db = new Database(eventLogPath(path));
  db.prepare('DELETE FROM log WHERE seq < ?').run(belowSeq);
  db.close();
}

/** As `cp` does: the file stays, its content changes. */
function overwrite(path: string, from: string): void {
  const { ino } = statSync(path);
  copyFileSync(from, path);
  expect(statSync(path).ino).toBe(ino);
}

function replaceByCopy(path: string): void {
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
}

function openedAt(path: string): Db {
  const db = openReader(path);
  onTestFinished(() => void db.close());
  return db;
}

function positionAt(path: string): MirrorPosition {
  const position = lookUpPosition(path);
  if (position === null || position === 'unknown') throw new Error(`no mirror at ${path}`);
  return position;
}

function highWaterMarkAt(path: string): Position | null {
  if (!existsSync(`${path}.mark`)) return null;
  return JSON.parse(readFileSync(`${path}.mark`, 'utf8')) as Position;
}

function anotherMirror(): string {
  const path = newPath();
  live(path, (writer) => {
    for (let n = 0; n < 50; n += 1) deliver(String(1_000 + n))(writer);
  });
  return path;
}

const moveAll = (path: string, moved: string): string => {
  renameSync(path, moved);
  renameSync(eventLogPath(path), eventLogPath(moved));
  return moved;
};

test.each<[string, (at: Case) => void | string | Promise<void>]>([
  ['after a stop', () => undefined],
  [
    'moved within its file system, mark and all',
    ({ path }) => {
      const moved = moveAll(path, join(temporaryFolder(), 'moved.db'));
      renameSync(`${path}.mark`, `${moved}.mark`);
      return moved;
    },
  ],
  ['moved without its mark', ({ path }) => moveAll(path, path.replace('mirror.db', 'moved.db'))],
  [
    'with other modes',
    ({ path, log }) => {
      chmodSync(path, 0o640);
      chmodSync(log, 0o640);
    },
  ],
  [
    'vacuumed',
    ({ path, log }) => {
      for (const one of [path, log]) {
        const db = new Database(one);
        db.exec('VACUUM');
        db.close();
      }
    },
  ],
  ['without a mark', ({ path }) => rmSync(`${path}.mark`)],
  [
    'with the mark of another mirror that is behind it',
    ({ path }) => {
      const other = newPath();
      live(other);
      copyFileSync(`${other}.mark`, `${path}.mark`);
    },
  ],
  ['without its mirror', ({ path }) => rmSync(path)],
  [
    'without its mirror and without a mark',
    ({ path }) => {
      rmSync(path);
      rmSync(`${path}.mark`);
    },
  ],
  ['with a copy of its mirror in its place', ({ path }) => replaceByCopy(path)],
  ['with an older mirror, written over it', ({ path, backup }) => overwrite(path, backup)],
  [
    'with an older mirror, restored into it by SQLite',
    async ({ path, backup }) => {
      const db = new Database(backup);
      await db.backup(path);
      db.close();
    },
  ],
  [
    'with an older mirror, and an event log that goes back to it and no further',
    ({ path, backup }) => {
      overwrite(path, backup);
      prune(path, positionAt(path).appliedSeq + 1);
    },
  ],
])('the history goes on, and the tables are the same: %s', async (_name, happen) => {
  const { before, ...at } = mirror();
  const is = dumpAt(at.path);
  const path = (await happen(at)) ?? at.path;
  const healed = live(path);
  expect(healed).toEqual({ ...before, news: [] });
  expect(dumpAt(path)).toBe(is);
  const after = live(path, deliver('104'));
  expect(after).toMatchObject({ epoch: before.epoch, news: [], lastLogSeq: before.lastLogSeq + 1 });
  expect(live(path)).toMatchObject({ ...after, news: [] });
});

test('the history goes on after a kill before anything was applied, or marked', () => {
  const { path, before } = mirror();
  live(path, deliver('103'), 'kill');
  live(
    path,
    ({ writer }) => {
      writer.log.append([{ kind: 'delivery', body: delivery('104', item({ id: '104' })), arrivedAtMs: T0 }]);
    },
    'kill',
  );
  const after = live(path);
  expect(after).toMatchObject({ epoch: before.epoch, news: [], lastLogSeq: before.lastLogSeq + 2 });
  expect(
    values(openedAt(path), `SELECT variant_id FROM stock_levels WHERE variant_id > '102' ORDER BY 1`),
  ).toEqual(['103', '104', '110']);
});

const OLDER = 'the event log is older than what was served from it';
const ANOTHER = 'the event log is another file than the one served before';
const TOGETHER = 'event log and high-water mark were copied together';
const APART = 'the mirror and the event log belong to different histories';
const SHORT = 'the mirror is older than the event log goes back';
const UNMADE = 'the mirror is gone, and the event log does not go back to its beginning';

const RESTARTS: [string, string, (at: Case) => void | Promise<void>][] = [
  ['an older event log, written over it', OLDER, ({ log, logBackup }) => overwrite(log, logBackup)],
  [
    'an older event log, restored into it by SQLite',
    OLDER,
    async ({ log, logBackup }) => {
      const { ino } = statSync(log);
      const db = new Database(logBackup);
      await db.backup(log);
      db.close();
      expect(statSync(log).ino).toBe(ino);
    },
  ],
  [
    'an older event log and a mirror as old',
    OLDER,
    ({ path, log, backup, logBackup }) => {
      overwrite(path, backup);
      overwrite(log, logBackup);
    },
  ],
  [
    'an older event log and no mirror',
    OLDER,
    ({ path, log, logBackup }) => {
      rmSync(path);
      overwrite(log, logBackup);
    },
  ],
  [
    'an older event log and no mark',
    OLDER,
    ({ path, log, logBackup }) => {
      overwrite(log, logBackup);
      rmSync(`${path}.mark`);
    },
  ],
  [
    'an older pair that has given out as much, but knows less of the log',
    OLDER,
    ({ path, log, backup, logBackup }) => {
      copyFileSync(path, backup);
      copyFileSync(log, logBackup);
      live(path, (writer) => {
        writer.append({ kind: 'listed', atMs: T0, productIds: ['10'], lookup: false });
      });
      overwrite(path, backup);
      overwrite(log, logBackup);
    },
  ],
  ['the event log’s own copy in its place', ANOTHER, ({ log }) => replaceByCopy(log)],
  ['no event log', APART, ({ log }) => rmSync(log)],
  [
    'neither mirror nor event log: only the mark is left',
    OLDER,
    ({ path, log }) => {
      rmSync(path);
      rmSync(log);
    },
  ],
  [
    'no event log and an older mirror',
    APART,
    ({ path, log, backup }) => {
      rmSync(log);
      overwrite(path, backup);
    },
  ],
  [
    'no mirror, and an event log that was pruned',
    UNMADE,
    ({ path }) => {
      rmSync(path);
      prune(path, 3);
    },
  ],
  [
    'an older mirror, and an event log that was pruned beyond it',
    SHORT,
    ({ path, backup }) => {
      live(path, deliver('103'));
      overwrite(path, backup);
      prune(path, positionAt(path).appliedSeq + 2);
    },
  ],
  ['another mirror, written over it', APART, ({ path }) => overwrite(path, anotherMirror())],
  ['another event log, written over it', ANOTHER, ({ log }) => overwrite(log, eventLogPath(anotherMirror()))],
  [
    'the mark of another mirror that is ahead of it',
    OLDER,
    ({ path }) => copyFileSync(`${anotherMirror()}.mark`, `${path}.mark`),
  ],
];

/** Where a file system keeps no birth times, an inode that is used again cannot be told from the first one. */
const TOLD_BY_BIRTH: typeof RESTARTS = [
  [
    'the event log’s own copy, put back after it was deleted, perhaps into the same inode',
    ANOTHER,
    ({ log, logBackup }) => {
      copyFileSync(log, logBackup);
      rmSync(log);
      copyFileSync(logBackup, log);
    },
  ],
  [
    'the whole folder, written over it',
    TOGETHER,
    ({ path, log, backup, logBackup, markBackup }) => {
      overwrite(path, backup);
      overwrite(log, logBackup);
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
    const { path } = at;
    await happen(at);
    const mark = highWaterMarkAt(path);
    const found = existsSync(path) ? positionAt(path) : { appliedSeq: 0, changeSeq: 0 };

    const own = openOwnLog(path);
    const { epoch } = own.log.history();
    const epochSeq = own.log.lastSeq;
    expect(own.news).toMatchObject([{ type: 'new_epoch', why, epoch }]);
    expect(epoch).toMatch(/^[0-9a-f]{16}$/);
    expect(epoch).not.toBe(before.epoch);
    expect(epochSeq).toBeGreaterThan(Math.max(mark?.logSeq ?? 0, found.appliedSeq));

    const db = openWriter(path);
    nameEpoch(db, own.db);
    const writer = new DirectWriter(db, own.db);
    while (writer.writer.projection.step([]).entries > 0);
    const after = positionOf(writer);
    // Whoever does not look at the epoch still sees numbers grow only; places in the log do not come again.
    expect(after.lastSeq).toBeGreaterThanOrEqual((own.news[0] as EpochNews).lastSeq);
    expect(after.lastSeq).toBeGreaterThan(Math.max(found.changeSeq, mark?.changeSeq ?? 0));
    if (why !== TOGETHER) expect(after.lastSeq).toBeGreaterThan(before.lastSeq);
    // Everything is read again, as on a first start.
    expect(unsuspected(db)).toEqual([]);
    expect(rows(db, 'SELECT epoch, alive_at, last_full_sync_at FROM mirror_status')).toEqual([
      { epoch, alive_at: null, last_full_sync_at: null },
    ]);
    expect(own.log.history().aliveAtMs).toBeNull();
    expect(values(db, `SELECT count(*) FROM runs WHERE state = 'running'`)).toEqual([0]);
    expect(values(db, 'SELECT count(*) FROM read_failures')).toEqual([0]);
    expect(writer.deliver(delivery('new', item({ id: '109' }))).seq).toBe(epochSeq + 1);
    expect(values<number>(db, 'SELECT max(seq) FROM mirror_changes')[0]).toBeGreaterThan(after.lastSeq);
    new HighWaterMarkKeeper(db, path).keep();
    const is = dump(db);
    db.close();
    own.db.close();
    own.release();

    // Once.
    expect(live(path)).toMatchObject({ epoch, news: [] });
    expect(dumpAt(path)).toBe(is);
  },
);

test.each(RESTARTS)(
  'killed when the event log had the new epoch and the mirror did not, the next start goes on with it: %s',
  async (_name, _why, happen) => {
    const { before, ...at } = mirror();
    await happen(at);
    const isGone = !existsSync(at.path);
    const first = live(at.path, undefined, 'kill at once');
    expect(first.news).toMatchObject([{ type: 'new_epoch', epoch: first.epoch }]);
    // Neither a mirror that is not there nor another mirror's mark says what this one had given out.
    const mark = highWaterMarkAt(at.path);
    if (isGone || (mark !== null && mark.epoch !== before.epoch)) return;
    expect(live(at.path, undefined, 'kill at once')).toMatchObject({ epoch: first.epoch, news: [] });
    const after = live(at.path);
    expect(after).toMatchObject({ epoch: first.epoch, news: [], lastLogSeq: first.lastLogSeq });
    expect(after.lastSeq).toBeGreaterThan(before.lastSeq);
    expect(unsuspected(openedAt(at.path))).toEqual([]);
    expect(live(at.path)).toEqual({ ...after, news: [] });
  },
);

test('a mirror made anew after a new epoch has the same rows as the one that lived through it', () => {
  const { path, log, logBackup, before } = mirror();
  overwrite(log, logBackup);
  const second = live(path, deliver('103'));
  expect(second.epoch).not.toBe(before.epoch);
  copyFileSync(path, `${path}.lived`);
  live(path, deliver('104'));
  const is = dumpAt(path);
  overwrite(path, `${path}.lived`);
  expect(live(path)).toMatchObject({ epoch: second.epoch, news: [] });
  expect(dumpAt(path)).toBe(is);
});

test.each<[string, string, (at: Case) => void]>([
  [
    'gone',
    'the mirror is gone, and it held what an earlier event log was lost with',
    ({ path }) => rmSync(path),
  ],
  [
    'replaced by one from before',
    'the mirror is not the one that the epoch began with',
    ({ path, backup }) => overwrite(path, backup),
  ],
])(
  'a mirror that held more than the event log when its epoch began cannot be made of it again: %s',
  (_name, why, happen) => {
    const { before, ...at } = mirror();
    overwrite(at.log, at.logBackup);
    const second = live(at.path, deliver('103'));
    expect(second.epoch).not.toBe(before.epoch);
    const served = present(values<number>(openedAt(at.path), 'SELECT max(seq) FROM changes')[0]);
    happen(at);
    const third = live(at.path);
    expect(third.news).toMatchObject([{ type: 'new_epoch', why, epoch: third.epoch }]);
    expect(third.lastSeq).toBeGreaterThan(served);
    expect(unsuspected(openedAt(at.path))).toEqual([]);
    expect(live(at.path)).toEqual({ ...third, news: [] });
  },
);

test.each<[string, (at: Case) => void]>([
  ['gone', ({ path }) => rmSync(path)],
  ['as it was before the epoch', ({ path, backup }) => overwrite(path, backup)],
])('a mirror as old as the event log when their epoch began is made of it again: %s', (_name, happen) => {
  const { before, ...at } = mirror();
  overwrite(at.path, at.backup);
  overwrite(at.log, at.logBackup);
  const second = live(at.path, deliver('103'));
  expect(second.epoch).not.toBe(before.epoch);
  const is = dumpAt(at.path);
  happen(at);
  expect(live(at.path)).toEqual({ ...second, news: [] });
  expect(dumpAt(at.path)).toBe(is);
});

test('a new epoch is not later than what is on record, whatever the clock says', () => {
  const { path, log, logBackup } = mirror();
  const readAtMs = T0 + 3_600_000;
  live(path, (writer) => writer.read('10', detail('10', [{ id: '100', levels: { 1: 5, 2: 7 } }]), readAtMs));
  overwrite(log, logBackup);
  const db = openLogForAppending(log);
  takeUpHistory(new EventLog(db), { path: log, databasePath: path, nowMs: T0 - 3_600_000 });
  const lastAtMs = present(
    values<number>(db, `SELECT at_ms FROM log WHERE kind <> 'epoch' ORDER BY seq DESC LIMIT 1`)[0],
  );
  expect(lastAtMs).toBeLessThan(readAtMs);
  const [beganAtMs] = values<number>(db, `SELECT at_ms FROM log WHERE kind = 'epoch'`);
  expect(beganAtMs).toBeGreaterThanOrEqual(readAtMs);
  db.close();
  live(path);
  expect(unsuspected(openedAt(path))).toEqual([]);
});

test('an event log from an earlier epoch is known, however long it is', () => {
  const { path, log, logBackup, before } = mirror();
  copyFileSync(log, `${logBackup}.last`);
  overwrite(log, logBackup);
  const second = live(path, undefined, 'kill');
  expect(second.epoch).not.toBe(before.epoch);
  // Its last state: all that the first epoch ever had.
  overwrite(log, `${logBackup}.last`);
  const third = live(path);
  expect(third.news).toMatchObject([{ type: 'new_epoch', why: APART, epochBefore: second.epoch }]);
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
  const { path, log, logBackup, before } = mirror();
  rmSync(`${path}.mark`);
  mkdirSync(`${path}.mark`);
  const messages = ({ news }: Life): string[] =>
    news.map((one) => (one.type === 'new_epoch' ? one.type : present(one.message.split(':')[0])));
  const unusable = [
    'the high-water mark beside the database cannot be read',
    'the high-water mark beside the database cannot be written',
  ];
  const second = live(path);
  expect(messages(second)).toEqual(unusable);
  expect(second.epoch).toBe(before.epoch);

  rmSync(log);
  copyFileSync(logBackup, log);
  const third = live(path);
  expect(messages(third)).toEqual([unusable[0], 'new_epoch', unusable[1]]);
  const fourth = live(path);
  expect(messages(fourth)).toEqual(unusable);
  expect(fourth.epoch).toBe(third.epoch);
});

test('a mark that an epoch could not replace does not end that epoch', () => {
  const { path, log, backup, logBackup, before } = mirror();
  copyFileSync(`${path}.mark`, `${backup}.mark`);
  overwrite(log, logBackup);
  // The second epoch's mark is lost, the first one's is there again: ahead in the log, and a copy besides.
  const second = live(path);
  expect(second.epoch).not.toBe(before.epoch);
  copyFileSync(`${backup}.mark`, `${path}.mark`);
  expect(live(path)).toMatchObject({ epoch: second.epoch, news: [] });
});

test('an epoch that cannot be committed refuses the start, and the next one begins it', () => {
  const { path, log, logBackup, before } = mirror();
  overwrite(log, logBackup);
  const other = new Database(log);
  other.exec('BEGIN IMMEDIATE');
  expect(() => live(path)).toThrow(expect.objectContaining({ kind: 'busy' }) as Error);
  other.exec('ROLLBACK');
  other.close();
  expect(live(path).epoch).not.toBe(before.epoch);
});

test('the first start records the file and writes a mark', () => {
  const path = newPath();
  const { news, epoch } = live(path);
  expect(news).toEqual([]);
  const { ino, birthtimeMs } = statSync(eventLogPath(path), { bigint: true });
  expect(rows(readerDb(path), 'SELECT file_inode, file_born_at_ms FROM history')).toEqual([
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
