/** The mirror made anew from its event log alone, in a file beside it: to compare, or to be put in its place. */
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { removeDatabase, removeSides, takeOwnerAndPermissions } from '../sqlite/database-files.ts';
import { StoreError } from '../sqlite/errors.ts';
import { encodeEpoch } from '../event-log/encode-epoch.ts';
import { EventLog, type RulesPeriod } from '../event-log/event-log.ts';
import { eventLogPath, openLogForAppending, openLogForReading } from '../event-log/open-log.ts';
import { LogReader } from '../event-log/read-log.ts';
import { findFile } from '../sqlite/file-identity.ts';
import { digestsOf } from './file/projected.ts';
import { isThere } from '../sqlite/is-there.ts';
import { refuseNoMirror, refuseOlderSchema } from './file/known-mirror.ts';
import { lockDatabase } from '../sqlite/lock.ts';
import { positionIn, type MirrorPosition } from '../event-log/mirror-position.ts';
import { openReader, type Db } from '../sqlite/open.ts';
import { syncFile } from '../sqlite/sync-file.ts';
import { openWriter } from './file/open-writer.ts';
import { prepareCommands } from './writer/commands.ts';
import { nameEpoch } from './writer/own-mirror.ts';
import { Projection } from './writer/projection.ts';
import { messageOf } from '../platform/thrown.ts';

interface RebuildOptions {
  /** Only compare. */
  readonly check: boolean;
  readonly nowMs: number;
  /** What the operator calls warehouses, by id: no entry tells it. None by default. */
  readonly warehouseNames?: ReadonlyMap<string, string>;
  readonly onProgress: (appliedSeq: number, lastSeq: number) => void;
  readonly interrupted: AbortSignal;
}

export interface Rebuilt {
  /** Entries applied again. */
  readonly entries: number;
  /** The tables that were not what the event log says; null: there was no mirror to compare with. */
  readonly differing: readonly string[] | null;
  /** Why the mirror of before could not be compared; null: it could. */
  readonly unreadable: string | null;
  /** The feed of before was another: readers start over. */
  readonly newEpoch: boolean;
  /** Which versions of the rules had applied the entries; this one has applied them all again. */
  readonly rules: readonly RulesPeriod[];
}

/** What the mirror of before says. */
interface Before {
  readonly position: MirrorPosition;
  readonly digests: ReadonlyMap<string, string>;
}

/** What a log that an earlier version began does not tell. */
const UNTOLD = ['runs', 'given_up_reads', 'read_failures'];

/**
 * @returns null when interrupted: nothing was changed.
 * @throws StoreError `in_use` when a mirror runs and more than a comparison is wanted, or Error when the event log does
 * not hold all entries since its beginning.
 */
export async function rebuildMirror(path: string, options: RebuildOptions): Promise<Rebuilt | null> {
  const logPath = eventLogPath(path);
  if (!isThere(logPath))
    throw new Error(`there is no event log at ${logPath}: start the mirror, which makes it`);
  const lock = options.check ? null : lockDatabase(path);
  const draft = join(dirname(path), `.${basename(path)}.${process.pid}.${randomBytes(4).toString('hex')}`);
  const logDb = openLogForReading(logPath);
  try {
    refuseHoles(logDb, logPath);
    const { rules } = new EventLog(logDb).history();
    const isWhole = rules[0]?.fromSeq === 1;
    const before = options.check ? readBefore(path, { isWhole }) : readIfReadable(path, { isWhole });
    // After the mirror was read: a running one may be behind what is read here, and never ahead.
    logDb.exec('BEGIN');
    const differing = await makeDraft({ draft, logDb, path, before, isWhole, options });
    if (options.interrupted.aborted) return null;
    const entries = new EventLog(logDb).lastSeq;
    logDb.exec('COMMIT');
    const unreadable = typeof before === 'string' ? before : null;
    if (options.check) return { entries, differing, unreadable, newEpoch: false, rules };
    const newEpoch = differing?.some((table) => COPIED.has(table)) ?? false;
    if (newEpoch && before !== null && typeof before === 'object') beginEpoch(logPath, before, options.nowMs);
    putInPlace(draft, path);
    return { entries, differing, unreadable, newEpoch, rules };
  } finally {
    logDb.close();
    removeDatabase(draft);
    lock?.release();
  }
}

/** Readers hold copies of these: where they differ, readers have been told what is not so. */
const COPIED: ReadonlySet<string> = new Set([
  ...['stock_levels', 'variants', 'products', 'product_details', 'changes', 'mirror_state'],
]);

/** @throws Error when entries are missing. */
function refuseHoles(logDb: Db, logPath: string): void {
  const { first, last, count } = logDb
    .prepare<[], { first: number | null; last: number | null; count: number }>(
      'SELECT min(seq) AS first, max(seq) AS last, count(*) AS count FROM log',
    )
    .get() ?? { first: null, last: null, count: 0 };
  if (first === null || last === null)
    throw new Error(`${logPath} is empty: there is nothing to make the mirror of`);
  if (first > 1) {
    throw new Error(
      `${logPath} begins with entry ${first}: those before it are pruned, or lost with an earlier event log, so that the ` +
        'mirror cannot be made of it alone; nothing was changed. To have everything read again from the store: `stock-mirror resync`',
    );
  }
  if (count !== last) {
    throw new Error(
      `${logPath} has ${count} entries from 1 to ${last}: those that are missing were lost before an epoch began, so that the ` +
        'mirror cannot be made of it alone; nothing was changed. To have everything read again from the store: `stock-mirror resync`',
    );
  }
}

/** @returns null: there is none. @throws StoreError */
function readBefore(path: string, { isWhole }: { readonly isWhole: boolean }): Before | null {
  if (!existsSync(path)) return null;
  const db = openReader(path);
  try {
    refuseNoMirror(path, db);
    refuseOlderSchema(path, db);
    return db.transaction(() => ({
      position: positionIn(db),
      digests: digestsOf(db, isWhole ? 'all' : 'ruled'),
    }))();
  } finally {
    db.close();
  }
}

/** @returns the reason when the file cannot be read, for which it is to be replaced. */
function readIfReadable(path: string, { isWhole }: { readonly isWhole: boolean }): Before | string | null {
  try {
    return readBefore(path, { isWhole });
  } catch (error) {
    // Another program's file, or one of another version, is not replaced.
    if (error instanceof StoreError && error.kind !== 'damaged') throw error;
    return messageOf(error);
  }
}

interface Draft {
  readonly draft: string;
  readonly logDb: Db;
  readonly path: string;
  readonly before: Before | string | null;
  readonly isWhole: boolean;
  readonly options: RebuildOptions;
}

/** @returns the tables that differ where the mirror of before stands; null when there is nothing to compare with. */
async function makeDraft({
  draft,
  logDb,
  path,
  before,
  isWhole,
  options: { check, warehouseNames = new Map(), onProgress, interrupted },
}: Draft): Promise<string[] | null> {
  const db = openWriter(draft);
  try {
    takeOwnerAndPermissions(draft, path);
    // What a crash would leave is not needed.
    db.pragma('synchronous = OFF');
    db.pragma('wal_autocheckpoint = 4000');
    nameEpoch(db, logDb);
    const projection = new Projection(db, new LogReader(logDb));
    const { lastSeq } = new EventLog(logDb);
    const applyTo = async (seq: number): Promise<void> => {
      while (projection.appliedSeq < seq && !interrupted.aborted) {
        projection.step([], seq);
        onProgress(projection.appliedSeq, lastSeq);
        await breathe();
      }
    };
    let differing: string[] | null = null;
    if (before !== null && typeof before === 'object') {
      const { position, digests } = before;
      if (position.appliedSeq > lastSeq) {
        throw new Error(
          `${path} has applied entry ${position.appliedSeq} of an event log that ends at ${lastSeq}: the event log is an older one; the next start begins a new epoch`,
        );
      }
      await applyTo(position.appliedSeq);
      if (interrupted.aborted) return null;
      const made = digestsOf(db, isWhole ? 'all' : 'ruled');
      differing = [...digests]
        .filter(([table, digest]) => made.get(table) !== digest)
        .map(([table]) => table);
      if (!check && !isWhole) takeUntold(db, path);
    }
    if (!check) {
      await applyTo(lastSeq);
      const names = Object.fromEntries(warehouseNames);
      prepareCommands(db).nameWarehouses({ names });
    }
    db.pragma('wal_checkpoint(TRUNCATE)');
    return differing;
  } finally {
    db.close();
  }
}

function takeUntold(db: Db, path: string): void {
  db.prepare('ATTACH ? AS before').run(path);
  db.transaction(() => {
    for (const table of UNTOLD) {
      db.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM before.${table}`);
    }
    db.exec(
      `UPDATE main.service_state SET (last_full_sync_at_ms, pruned_change_seq) =
         (SELECT last_full_sync_at_ms, pruned_change_seq FROM before.service_state)`,
    );
  })();
  db.exec('DETACH before');
}

/** Numbers of the feed that were given out get no second meaning. */
function beginEpoch(logPath: string, { position }: Before, nowMs: number): void {
  const db = openLogForAppending(logPath);
  try {
    const log = new EventLog(db);
    const { epoch: epochBefore, aliveAtMs, lastAtMs } = log.history();
    const epoch = randomBytes(8).toString('hex');
    const atMs = Math.max(nowMs, aliveAtMs ?? 0, lastAtMs ?? 0);
    const entry = encodeEpoch({ kind: 'epoch', atMs, givenOutSeq: position.changeSeq, epoch });
    log.beginEpoch({ epoch, epochBefore, file: findFile(logPath), entry, afterSeq: log.lastSeq });
  } finally {
    db.close();
  }
}

/** The files beside the old one belong to it: a write-ahead log would be taken for the new one's. */
function putInPlace(draft: string, path: string): void {
  emptyWriteAheadLog(path);
  syncFile(draft);
  removeSides(path);
  renameSync(draft, path);
  syncFile(dirname(path));
}

/** So that readers that have the old file open lose nothing. A damaged file cannot be helped, and is replaced. */
function emptyWriteAheadLog(path: string): void {
  if (!existsSync(path)) return;
  try {
    const db = new Database(path, { fileMustExist: true });
    try {
      db.pragma('wal_checkpoint(TRUNCATE)');
    } finally {
      db.close();
    }
  } catch {
    // What it held is in the event log.
  }
}
