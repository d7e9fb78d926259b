/** A real folder in memory with SQLite files and injected faults. */
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { inboxPath } from '../../src/inbox/inbox.ts';
import { lockAndOpen, type OpenInbox } from '../../src/inbox/serve-inbox.ts';
import { openForQueries } from '../../src/mirror/reader/serve-queries.ts';
import type { ApplyOptions } from '../../src/mirror/mirror.ts';
import { openOwnMirror, type OwnMirror } from '../../src/mirror/writer/serve-apply.ts';
import { StoreError } from '../../src/sqlite/errors.ts';
import { openReader, type Db } from '../../src/sqlite/open.ts';
import { Journal } from './journal.ts';

/**
 * `locked`: another program holds the write lock; `full`: no commit finds room; `unsynced`: a stored commit is
 * reported as failed.
 */
export type DiskFault = 'locked' | 'full' | 'unsynced';

export const DISKS = ['inbox', 'mirror'] as const;
export type DiskName = (typeof DISKS)[number];

const SIDES = ['', '-wal', '-shm'];

export interface DiskCopy {
  readonly mirror: Uint8Array;
  readonly inbox: Uint8Array;
}

export class Disk {
  readonly #folder: string;
  readonly databasePath: string;
  readonly inboxPath: string;
  readonly journal = new Journal();
  readonly faults: Record<DiskName, DiskFault | null> = { inbox: null, mirror: null };
  readonly felt = new Map<string, number>();
  onCommit: () => void = () => undefined;
  onCommitted: (db: Db) => void = () => undefined;
  readonly #open = new Set<() => void>();

  constructor() {
    const memory = '/dev/shm';
    this.#folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'stock-mirror-simulation-'));
    this.databasePath = join(this.#folder, 'mirror.db');
    this.inboxPath = inboxPath(this.databasePath);
  }

  /** @param isAlive nothing reaches the disk of a dead process's doing. @throws StoreError */
  openInbox(isAlive: () => boolean): OpenInbox {
    const own = lockAndOpen(this.databasePath);
    const exec = this.#faulty('inbox', own.db, isAlive, { before: () => undefined, after: () => undefined });
    return this.#held(own.db, exec, () => own.close());
  }

  openMirror(options: ApplyOptions, isAlive: () => boolean, onOpen: (own: OwnMirror) => void): OwnMirror {
    if (this.faults.mirror === 'locked') {
      this.#feel('mirror', 'locked');
      throw new StoreError('busy', 'the mirror is locked');
    }
    const own = openOwnMirror(this.databasePath, options);
    const { db, applier } = own;
    const inbox = openReader(this.inboxPath);
    this.journal.opened(db, own.newEpoch !== null);
    onOpen(own);
    const exec = this.#faulty('mirror', db, isAlive, {
      before: () => this.journal.commit(db, inbox),
      after: () => this.onCommitted(db),
    });
    const step = applier.step.bind(applier);
    applier.step = (works) => {
      this.journal.works = [...works];
      return step(works);
    };
    const { close } = this.#held(db, exec, (orderly) => {
      inbox.close();
      own.close({ isOrderly: orderly });
    });
    return { ...own, close: ({ isOrderly }) => close(isOrderly) };
  }

  #held(
    db: Db,
    exec: (sql: string) => Db,
    end: (isOrderly: boolean) => void,
  ): { db: Db; check: () => void; close: (isOrderly?: boolean) => void } {
    const kill = (): void => {
      if (db.inTransaction) exec('ROLLBACK');
      close(false);
    };
    const close = (isOrderly = true): void => {
      if (this.#open.delete(kill)) end(isOrderly);
    };
    this.#open.add(kill);
    return { db, check: () => undefined, close };
  }

  #feel(disk: DiskName, fault: DiskFault): void {
    const name = `${disk} ${fault}`;
    this.felt.set(name, (this.felt.get(name) ?? 0) + 1);
  }

  #faulty(
    disk: DiskName,
    db: Db,
    isAlive: () => boolean,
    commit: { readonly before: () => void; readonly after: () => void },
  ): (sql: string) => Db {
    const exec = db.exec.bind(db);
    db.exec = (sql: string) => {
      if (!isAlive()) throw new Error('killed');
      const fault = this.faults[disk];
      if (sql === 'BEGIN IMMEDIATE' && fault === 'locked') {
        this.#feel(disk, fault);
        throw new Database.SqliteError('database is locked', 'SQLITE_BUSY');
      }
      if (sql !== 'COMMIT') return exec(sql);
      this.onCommit();
      if (fault === 'full') {
        this.#feel(disk, fault);
        throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
      }
      commit.before();
      exec(sql);
      commit.after();
      if (fault === 'unsynced') {
        this.#feel(disk, fault);
        throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
      }
      return db;
    };
    return exec;
  }

  openForReading(): Db {
    const db = openForQueries(this.databasePath);
    const close = (): void => {
      if (db.open) db.close();
    };
    this.#open.add(close);
    return db;
  }

  /** Everything that this host received is in the stream. */
  get isPublished(): boolean {
    const db = openReader(this.inboxPath);
    try {
      const sql = `SELECT published_seq >= coalesce((SELECT max(seq) FROM inbox WHERE from_stream = 0), 0) FROM metadata`;
      return db.prepare<[], number>(sql).pluck().get() === 1;
    } finally {
      db.close();
    }
  }

  closeAll(): void {
    for (const close of [...this.#open]) close();
    this.#open.clear();
  }

  backUp(): DiskCopy | null {
    if (!existsSync(this.databasePath)) return null;
    const mirror = copyOf(openReader(this.databasePath));
    return { mirror, inbox: copyOf(openReader(this.inboxPath)) };
  }

  restore(copy: Partial<DiskCopy>): void {
    if (copy.mirror !== undefined) overwrite(this.databasePath, copy.mirror);
    if (copy.inbox !== undefined) overwrite(this.inboxPath, copy.inbox);
  }

  loseMirror(): void {
    for (const side of SIDES) rmSync(this.databasePath + side, { force: true });
  }

  remove(): void {
    this.closeAll();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  keepAt(path: string): void {
    for (const side of SIDES) {
      if (existsSync(this.databasePath + side)) copyFileSync(this.databasePath + side, path + side);
      if (existsSync(this.inboxPath + side)) copyFileSync(this.inboxPath + side, inboxPath(path) + side);
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
