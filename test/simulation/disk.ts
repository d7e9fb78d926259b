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
import { openOwnMirror, type OpenOptions } from '../../src/mirror/writer/own-mirror.ts';

/**
 * - `locked`: another program holds the write lock. - `full`: no commit finds room.
 * - `unsynced`: the commit is reported as failed although it is there, as after a failed fsync.
 */
export type DiskFault = 'locked' | 'full' | 'unsynced';

/** The event log and the mirror are two files, and may be on two disks. */
export const DISKS = ['log', 'mirror'] as const;
export type DiskName = (typeof DISKS)[number];

/** Files beside each of the two that belong to it. */
const SIDES = ['', '-wal', '-shm'];

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

  constructor() {
    const memory = '/dev/shm';
    this.#folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'stock-mirror-simulation-'));
    this.databasePath = join(this.#folder, 'mirror.db');
    this.logPath = eventLogPath(this.databasePath);
  }

  /** @param isAlive nothing reaches the disk of a dead process's doing. @throws StoreError */
  openLog(isAlive: () => boolean): OwnLog {
    const own = openOwnLog(this.databasePath);
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

  /** @param onOpen sees the connection before anything is applied, and one to the event log. @throws StoreError */
  openMirror(
    options: OpenOptions,
    isAlive: () => boolean,
    onOpen: (own: OwnMirror, log: Db) => void,
  ): OwnMirror {
    const own = openOwnMirror(this.databasePath, options);
    const { db } = own;
    const log = openLogForReading(this.logPath);
    onOpen(own, log);
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

  /** The mirror's file and all beside it are deleted. */
  loseMirror(): void {
    for (const side of SIDES) rmSync(this.databasePath + side, { force: true });
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
