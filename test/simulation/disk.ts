/** The machine's disk: a real folder in memory, with SQLite's own files, and faults on its way there. */
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { MarkKeeper } from '../../src/store/mark.ts';
import { openReader, type Db } from '../../src/store/open.ts';
import { openOwnDatabase } from '../../src/store/own-database.ts';
import type { OwnDatabase } from '../../src/store/write-loop.ts';

/**
 * - `locked`: another program holds the write lock. - `full`: no commit finds room.
 * - `unsynced`: the commit is reported as failed although it is there, as after a failed fsync.
 */
export type DiskFault = 'locked' | 'full' | 'unsynced';

/** Files beside the database that belong to it. */
const SIDES = ['', '-wal', '-shm', '.mark'];

/** So that whoever kills a simulation can clean up after it. */
export const diskPrefix = (pid: number): string => `stock-mirror-simulation-${pid}-`;

export class Disk {
  readonly #folder: string;
  readonly databasePath: string;
  fault: DiskFault | null = null;
  /** How often each fault took effect. */
  readonly felt: Record<DiskFault, number> = { locked: 0, full: 0, unsynced: 0 };
  /** Told before a transaction is committed: a kill here must not let it through. */
  onCommit: () => void = () => undefined;
  /** Told after it is committed. */
  onCommitted: (db: Db) => void = () => undefined;
  readonly #open = new Set<() => void>();

  constructor() {
    const memory = '/dev/shm';
    this.#folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), diskPrefix(process.pid)));
    this.databasePath = join(this.#folder, 'mirror.db');
  }

  /**
   * @param isAlive nothing reaches the disk of a dead process's doing.
   * @param onOpen sees the connection before the writer does.
   * @throws StoreError
   */
  openForWriting(isAlive: () => boolean, onOpen: (db: Db) => void): OwnDatabase {
    const own = openOwnDatabase(this.databasePath);
    const { db } = own;
    onOpen(db);
    const exec = db.exec.bind(db);
    db.exec = (sql: string) => {
      if (!isAlive()) throw new Error('killed');
      if (sql === 'BEGIN IMMEDIATE' && this.fault === 'locked') {
        this.felt.locked += 1;
        throw new Database.SqliteError('database is locked', 'SQLITE_BUSY');
      }
      if (sql !== 'COMMIT') return exec(sql);
      this.onCommit();
      if (this.fault === 'full') {
        this.felt.full += 1;
        throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
      }
      exec(sql);
      this.onCommitted(db);
      if (this.fault === 'unsynced') {
        this.felt.unsynced += 1;
        throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
      }
      return db;
    };
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

  openForReading(): Db {
    const db = openReader(this.databasePath);
    const close = (): void => {
      if (db.open) db.close();
    };
    this.#open.add(close);
    return db;
  }

  /** What the checkpoint thread does besides checkpoints. */
  keepMark(): () => void {
    const keeper = new MarkKeeper(this.openForReading(), this.databasePath);
    return () => void keeper.keep();
  }

  /** What a kill does to the files a process held. Only what was committed is left. */
  closeAll(): void {
    for (const close of [...this.#open]) close();
    this.#open.clear();
  }

  /** An online copy, whole, of one instant. */
  backUp(): Uint8Array {
    const db = openReader(this.databasePath);
    try {
      return db.serialize();
    } finally {
      db.close();
    }
  }

  /** An old copy over the present file, while nobody has it open. */
  restore(copy: Uint8Array): void {
    for (const side of ['-wal', '-shm']) rmSync(this.databasePath + side, { force: true });
    writeFileSync(this.databasePath, copy);
  }

  remove(): void {
    this.closeAll();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** For looking at a failed run afterwards. */
  keepAt(path: string): void {
    for (const side of SIDES) {
      if (existsSync(this.databasePath + side)) copyFileSync(this.databasePath + side, path + side);
    }
  }
}
