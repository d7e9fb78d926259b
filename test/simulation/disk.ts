/** The machine's disk: a real folder in memory, with SQLite's own files, and faults on its way there. */
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { OwnMirror } from '../../src/mirror/writer/apply-loop.ts';
import { eventLogPath, openLogForReading } from '../../src/event-log/open-log.ts';
import { openOwnLog, type OwnLog } from '../../src/event-log/own-log.ts';
import { openReader, type Db } from '../../src/sqlite/open.ts';
import { openReaderOfBoth } from '../../src/event-log/open-both.ts';
import { openOwnMirror } from '../../src/mirror/writer/own-mirror.ts';
import { readHighWaterMark } from '../../src/event-log/high-water-mark.ts';

/**
 * - `locked`: another program holds the write lock. - `full`: no commit finds room.
 * - `unsynced`: the commit is reported as failed although it is there, as after a failed fsync.
 */
export type DiskFault = 'locked' | 'full' | 'unsynced';

/** The event log and the mirror are two files, and may be on two disks. */
export const DISKS = ['log', 'mirror'] as const;
export type DiskName = (typeof DISKS)[number];

/** Files beside each of the two that belong to it. */
const SIDES = ['', '-wal', '-shm', '.mark'];

/** Both files as they were at one time. */
export interface DiskCopy {
  readonly mirror: Uint8Array;
  readonly log: Uint8Array;
}

export class Disk {
  readonly #folder: string;
  readonly databasePath: string;
  readonly logPath: string;
  readonly faults: Record<DiskName, DiskFault | null> = { log: null, mirror: null };
  /** How often each fault took effect. */
  readonly felt = new Map<string, number>();
  /** Told before a transaction is committed: a kill here must not let it through. */
  onCommit: () => void = () => undefined;
  /** Told after the mirror has committed. */
  onCommitted: (db: Db) => void = () => undefined;
  readonly #open = new Set<() => void>();
  /** The last entry when mirror and high-water mark were lost. */
  #lostAtSeq = 0;

  constructor() {
    const memory = '/dev/shm';
    this.#folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'stock-mirror-simulation-'));
    this.databasePath = join(this.#folder, 'mirror.db');
    this.logPath = eventLogPath(this.databasePath);
  }

  /**
   * @param isAlive nothing reaches the disk of a dead process's doing.
   * @param open the event log, or another one of this machine's. @throws StoreError
   */
  openLog(
    isAlive: () => boolean,
    open: (databasePath: string) => OwnLog = (path) => openOwnLog(path),
  ): OwnLog {
    const own = open(this.databasePath);
    const { db } = own;
    const exec = this.#faulty('log', db, isAlive, () => undefined);
    const release = (): void => {
      this.#open.delete(close);
      own.release();
    };
    const close = (): void => {
      if (db.inTransaction) exec('ROLLBACK');
      db.close();
      release();
    };
    this.#open.add(close);
    return { ...own, release };
  }

  /** @param onOpen sees the connection before the projection does, and one to the event log. @throws StoreError */
  openMirror(isAlive: () => boolean, onOpen: (db: Db, log: Db) => void): OwnMirror {
    const own = openOwnMirror(this.databasePath);
    const { db } = own;
    const log = openLogForReading(this.logPath);
    onOpen(db, log);
    const exec = this.#faulty('mirror', db, isAlive, () => this.onCommitted(db));
    const close = (): void => {
      this.#open.delete(close);
      log.close();
      if (db.inTransaction) exec('ROLLBACK');
      own.close();
    };
    this.#open.add(close);
    return {
      ...own,
      close: () => {
        this.#open.delete(close);
        log.close();
        return own.close();
      },
    };
  }

  /** Commits of the connection meet the disk's fault. @returns the way around it. */
  #faulty(disk: DiskName, db: Db, isAlive: () => boolean, onCommitted: () => void): (sql: string) => Db {
    const exec = db.exec.bind(db);
    const feel = (fault: DiskFault): void => {
      const name = `${disk} ${fault}`;
      this.felt.set(name, (this.felt.get(name) ?? 0) + 1);
    };
    db.exec = (sql: string) => {
      if (!isAlive()) throw new Error('killed');
      const fault = this.faults[disk];
      if (sql === 'BEGIN IMMEDIATE' && fault === 'locked') {
        feel(fault);
        throw new Database.SqliteError('database is locked', 'SQLITE_BUSY');
      }
      if (sql !== 'COMMIT') return exec(sql);
      this.onCommit();
      if (fault === 'full') {
        feel(fault);
        throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
      }
      exec(sql);
      onCommitted();
      if (fault === 'unsynced') {
        feel(fault);
        throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
      }
      return db;
    };
    return exec;
  }

  openForReading(): Db {
    const db = openReaderOfBoth(this.databasePath);
    const close = (): void => {
      if (db.open) db.close();
    };
    this.#open.add(close);
    return db;
  }

  /** A connection of a process's own, closed with it. @returns what closes it before. */
  hold(db: { close(): unknown }): () => void {
    const close = (): void => {
      this.#open.delete(close);
      db.close();
    };
    this.#open.add(close);
    return close;
  }

  get isMirrorThere(): boolean {
    return existsSync(this.databasePath);
  }

  /** Both files, and all beside them. */
  loseBoth(): void {
    for (const side of [...SIDES, '.lock']) rmSync(this.databasePath + side, { force: true });
    for (const side of SIDES) rmSync(this.logPath + side, { force: true });
  }

  /** What a kill does to the files a process held. Only what was committed is left. */
  closeAll(): void {
    for (const close of [...this.#open]) close();
    this.#open.clear();
  }

  /** Online copies; the event log holds all that the mirror has applied. */
  backUp(): DiskCopy {
    const mirror = copyOf(openReader(this.databasePath));
    return { mirror, log: copyOf(openLogForReading(this.logPath)) };
  }

  /** Old copies over the present files, while nobody has them open. */
  restore(copy: Partial<DiskCopy>): void {
    if (copy.mirror !== undefined) overwrite(this.databasePath, copy.mirror);
    if (copy.log !== undefined) overwrite(this.logPath, copy.log);
  }

  /**
   * Whether an older event log, written into its own file, would be known as such. Mirror and high-water mark are all that
   * tells: not before they have come again as far as they were when they were lost.
   */
  get knowsOlderLog(): boolean {
    return this.#lostAtSeq === 0 || (readHighWaterMark(this.databasePath)?.logSeq ?? 0) >= this.#lostAtSeq;
  }

  /** An older event log is in place, and no start has seen it yet: mirror and mark are all that tells. */
  get hasOlderLog(): boolean {
    return (readHighWaterMark(this.databasePath)?.logSeq ?? 0) > this.#lastSeq();
  }

  #lastSeq(): number {
    const log = openLogForReading(this.logPath);
    try {
      return log.prepare<[], number | null>('SELECT max(seq) FROM log').pluck().get() ?? 0;
    } finally {
      log.close();
    }
  }

  /** The mirror's file and all beside it are deleted. */
  loseMirror(): void {
    this.#lostAtSeq = this.#lastSeq();
    for (const side of [...SIDES, '.lock']) rmSync(this.databasePath + side, { force: true });
  }

  remove(): void {
    this.closeAll();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** For looking at a failed run afterwards. */
  keepAt(path: string): void {
    for (const side of SIDES) {
      if (existsSync(this.databasePath + side)) copyFileSync(this.databasePath + side, path + side);
      if (existsSync(this.logPath + side)) copyFileSync(this.logPath + side, eventLogPath(path) + side);
    }
  }
}

function copyOf(db: Db): Uint8Array {
  try {
    return db.serialize();
  } finally {
    db.close();
  }
}

function overwrite(path: string, copy: Uint8Array): void {
  for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
  writeFileSync(path, copy);
}
