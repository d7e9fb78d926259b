/** A real folder in memory with SQLite files and injected faults. */
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { inboxPath, openInboxReader } from '../../src/inbox/inbox-file.ts';
import { InboxWriter } from '../../src/receiver/inbox-writer.ts';
import { lockAndOpen, type InboxOptions, type OpenInbox } from '../../src/receiver/open-inbox.ts';
import { openForQueries } from '../../src/mirror/reader/open-for-queries.ts';
import type { StartOptions } from '../../src/mirror/start.ts';
import { openOwnMirror, type OwnMirror } from '../../src/mirror/writer/serve-apply.ts';
import { SqliteFault } from '../../src/sqlite/errors.ts';
import { openReader, type Db } from '../../src/sqlite/open.ts';
import { Journal, type EpochClocks, type JournalCopy } from './journal.ts';
import type { Damage } from './life-plan.ts';
import { present } from '../shared/present.ts';
import { onVirtualTime } from './virtual-time.ts';
import { lastSeqOf, misorderedRows } from './watch/inbox-order.ts';

/**
 * `locked`: another program holds the write lock; `full`: no commit finds room; `unsynced`: a stored commit is
 * reported as failed.
 */
export type DiskFault = 'locked' | 'full' | 'unsynced';

export const DISKS = ['inbox', 'mirror'] as const;
export type DiskName = (typeof DISKS)[number];

const SIDES = ['', '-wal', '-shm'];

/** `PRAGMA synchronous` from which on a commit is on disk when it returns. */
const SYNCHRONOUS_FULL = 2;
const PAGE_BYTES = 4_096;
const WRONG_PAGE_TYPE = 0x55;

export interface DiskCopy {
  readonly mirror: Uint8Array;
  readonly inbox: Uint8Array;
  /** The inputs of the mirror's file. */
  readonly journal: JournalCopy;
}

/** Called with the opened mirror; `epoch` is null if it continues. */
export type OnOpen = (own: OwnMirror, epoch: EpochClocks | null) => void;

/** What a process does on the disk: nothing happens once it is dead. */
export interface DiskUser {
  readonly isAlive: () => boolean;
  /** Called before each commit. @throws Error if the process is killed before it. */
  readonly onCommit: () => void;
}

export class Disk {
  readonly folder: string;
  readonly databasePath: string;
  readonly inboxPath: string;
  readonly journal = new Journal();
  readonly faults: Record<DiskName, DiskFault | null> = { inbox: null, mirror: null };
  readonly felt = new Map<string, number>();
  onFault: (what: string) => void = () => undefined;
  onCommitted: (db: Db) => void = () => undefined;
  readonly #open = new Map<() => void, DiskUser>();
  readonly #writers = new Map<DiskName, Db>();
  readonly #terminations = new Map<DiskName, () => void>();

  constructor() {
    const memory = '/dev/shm';
    this.folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'stock-mirror-simulation-'));
    this.databasePath = join(this.folder, 'mirror.db');
    this.inboxPath = inboxPath(this.databasePath);
  }

  /** @throws SqliteFault */
  openInbox(user: DiskUser, options: InboxOptions): InboxWriter {
    return new InboxWriter(this.#ownInbox(lockAndOpen(this.databasePath, options), user));
  }

  #ownInbox(own: OpenInbox, user: DiskUser): OpenInbox {
    let seq = lastSeqOf(own.db);
    const exec = this.#faulty('inbox', own.db, user, {
      before: () => {
        const misordered = misorderedRows(own.db, seq);
        if (misordered !== null) this.onFault(misordered);
      },
      after: () => (seq = lastSeqOf(own.db)),
    });
    return {
      ...this.#held({ ...own, name: 'inbox', user, exec, end: () => own.close() }),
      replace: (damage, lastSeq) => this.#ownInbox(own.replace(damage, lastSeq), user),
    };
  }

  openInboxForReading(user: DiskUser): Db {
    const db = openInboxReader(this.databasePath);
    this.#open.set(() => db.close(), user);
    return db;
  }

  /** @returns hashes of the deliveries in the inbox up to the mirror's position. */
  bodiesBefore(mirror: Db): ReadonlySet<string> {
    const position = mirror.prepare<[], number>('SELECT inbox_seq FROM mirror_state').pluck().get() ?? 0;
    const db = openInboxReader(this.databasePath);
    try {
      const hashes = db
        .prepare<[number], string>(
          'SELECT lower(hex(body_hash)) FROM inbox WHERE body_hash IS NOT NULL AND seq <= ?',
        )
        .pluck()
        .all(position);
      return new Set(hashes);
    } finally {
      db.close();
    }
  }

  #inMirror(): { readonly clockMs: number | null; readonly epoch: string | null } {
    try {
      const db = openReader(this.databasePath);
      try {
        const row = db
          .prepare<[], { readonly clockMs: number | null; readonly epoch: string }>(
            'SELECT clock_ms AS clockMs, epoch FROM service_state',
          )
          .get();
        return row ?? { clockMs: null, epoch: null };
      } finally {
        db.close();
      }
    } catch {
      return { clockMs: null, epoch: null };
    }
  }

  openMirror(options: StartOptions, user: DiskUser, onOpen: OnOpen): OwnMirror {
    if (this.faults.mirror === 'locked') {
      this.#feel('mirror', 'locked');
      throw new SqliteFault('busy', 'the mirror is locked');
    }
    const { clockMs, epoch: before } = this.#inMirror();
    const own = openOwnMirror(this.databasePath, options);
    const { db, applier } = own;
    const inbox = openReader(this.inboxPath);
    const epoch = own.newEpoch === null ? null : { clockMs, nowMs: options.nowMs };
    // The new file in the place of one that was moved aside begins without a clock.
    const isKept = own.newEpoch?.movedTo === null;
    this.journal.opened(db, before, epoch === null || isKept ? epoch : { ...epoch, clockMs: null });
    onOpen(own, epoch);
    const exec = this.#faulty('mirror', db, user, {
      before: () => this.journal.commit(db, inbox),
      after: () => this.onCommitted(db),
    });
    const step = applier.step.bind(applier);
    applier.step = (tasks) => {
      this.journal.tasks = [...tasks];
      return step(tasks);
    };
    const end = (isOrderly: boolean): void => {
      inbox.close();
      own.close({ isOrderly });
    };
    const { close } = this.#held({ ...own, name: 'mirror', user, exec, end });
    return { ...own, close: ({ isOrderly }) => close(isOrderly) };
  }

  /** A thread of the process is terminated: its connection ends in the middle of whatever it did. */
  terminate(name: DiskName): void {
    this.#terminations.get(name)?.();
  }

  #held({ name, user, db, check, exec, end }: Held): {
    db: Db;
    check: () => void;
    close: (isOrderly?: boolean) => void;
  } {
    this.#writers.set(name, db);
    const kill = (): void => {
      if (!this.#open.has(kill)) return;
      if (db.inTransaction) exec('ROLLBACK');
      close(false);
    };
    const close = (isOrderly = true): void => {
      if (!this.#open.delete(kill)) return;
      if (this.#writers.get(name) === db) this.#writers.delete(name);
      end(isOrderly);
    };
    this.#open.set(kill, user);
    this.#terminations.set(name, kill);
    return { db, check, close };
  }

  #feel(disk: DiskName, fault: DiskFault): void {
    const name = `${disk} ${fault}`;
    this.felt.set(name, (this.felt.get(name) ?? 0) + 1);
  }

  #faulty(
    disk: DiskName,
    db: Db,
    { isAlive, onCommit }: DiskUser,
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
      onCommit();
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

  openForReading(user: DiskUser): Db {
    const db = openForQueries(this.databasePath);
    onVirtualTime(db);
    const close = (): void => {
      if (db.open) db.close();
    };
    this.#open.set(close, user);
    return db;
  }

  /** Everything that this host received is in the stream. */
  get isPublished(): boolean {
    return (
      this.#inInbox(
        'SELECT published_seq >= coalesce((SELECT max(seq) FROM inbox WHERE from_stream = 0), 0) FROM receiver',
      ) === 1
    );
  }

  /** Hashes of the deliveries that this host received and has not published, as hexadecimal digits. */
  get unpublished(): string[] {
    const db = openReader(this.inboxPath);
    try {
      return db
        .prepare<[], string>(
          `SELECT lower(hex(body_hash)) FROM inbox
           WHERE from_stream = 0 AND body_hash IS NOT NULL AND seq > (SELECT published_seq FROM receiver)`,
        )
        .pluck()
        .all();
    } finally {
      db.close();
    }
  }

  /** Names the host in the stream. */
  get hostId(): string {
    return String(this.#inInbox('SELECT inbox_id FROM receiver'));
  }

  /** All messages of the stream up to this one are in the inbox. */
  get streamSeq(): number {
    return Number(this.#inInbox('SELECT stream_seq FROM receiver'));
  }

  #inInbox(sql: string): unknown {
    const db = openReader(this.inboxPath);
    try {
      return present(db.prepare(sql).pluck().get());
    } finally {
      db.close();
    }
  }

  closeAll(): void {
    for (const close of [...this.#open.keys()]) close();
    this.#open.clear();
  }

  /** A process has ended. */
  closeAllOf(user: DiskUser): void {
    for (const [close, owner] of [...this.#open]) {
      if (owner !== user) continue;
      close();
      this.#open.delete(close);
    }
  }

  /**
   * Ends all connections as a power cut does: what was not synced is lost. With `synchronous` = FULL each commit is
   * synced; otherwise all commits since the last checkpoint are lost. The write-ahead log ends in a torn transaction.
   * The note of the mirror's numbers stays: it is synced before it replaces another.
   */
  cutPower(): void {
    const left = DISKS.map((name) => {
      const writer = this.#writers.get(name);
      const isSynced =
        writer === undefined || Number(writer.pragma('synchronous', { simple: true })) >= SYNCHRONOUS_FULL;
      const path = this.pathOf(name);
      const log = contentOf(`${path}-wal`);
      return {
        path,
        database: contentOf(path),
        log: log === null || !isSynced ? null : Buffer.concat([log, Buffer.alloc(PAGE_BYTES / 2, 0xa5)]),
      };
    });
    this.closeAll();
    for (const { path, database, log } of left) {
      for (const side of SIDES) rmSync(path + side, { force: true });
      if (database !== null) writeFileSync(path, database);
      if (log !== null) writeFileSync(`${path}-wal`, log);
    }
  }

  pathOf(name: DiskName): string {
    return name === 'inbox' ? this.inboxPath : this.databasePath;
  }

  lose(name: DiskName): void {
    for (const side of SIDES) rmSync(this.pathOf(name) + side, { force: true });
  }

  /** @param at selects the place, from 0 to 1. */
  damage(name: DiskName, how: Exclude<Damage, 'older' | 'backup'>, at: number): void {
    const path = this.pathOf(name);
    if (!existsSync(path)) return;
    switch (how) {
      case 'deleted':
        this.lose(name);
        return;
      case 'emptied':
        this.lose(name);
        writeFileSync(path, '');
        return;
      case 'truncated': {
        const bytes = readFileSync(path).byteLength;
        rmSync(`${path}-wal`, { force: true });
        rmSync(`${path}-shm`, { force: true });
        truncateSync(path, Math.floor(bytes * at));
        return;
      }
      case 'flipped': {
        const bytes = readFileSync(path);
        const page = Math.floor((bytes.byteLength / PAGE_BYTES) * at);
        // The header of the file precedes the first page's own.
        bytes[page === 0 ? 100 : page * PAGE_BYTES] = WRONG_PAGE_TYPE;
        writeFileSync(path, bytes);
        return;
      }
      case 'replaced':
        this.lose(name);
        writeFileSync(path, foreignDatabase());
    }
  }

  isForeign(name: DiskName): boolean {
    const content = contentOf(this.pathOf(name));
    return content !== null && content.equals(foreignDatabase());
  }

  /** @returns null if a file is missing, or so damaged that it cannot be copied. */
  backUp(): DiskCopy | null {
    if (!existsSync(this.databasePath)) return null;
    const mirror = copyOf(openReader(this.databasePath));
    const inbox = copyOf(openReader(this.inboxPath));
    return mirror === null || inbox === null ? null : { mirror, inbox, journal: this.journal.copy() };
  }

  restore(copy: Partial<DiskCopy>): void {
    if (copy.mirror !== undefined) overwrite(this.databasePath, copy.mirror);
    if (copy.journal !== undefined) this.journal.restore(copy.journal);
    if (copy.inbox !== undefined) overwrite(this.inboxPath, copy.inbox);
  }

  remove(): void {
    this.closeAll();
    rmSync(this.folder, { recursive: true, force: true });
  }

  keepAt(path: string): void {
    for (const side of SIDES) {
      if (existsSync(this.databasePath + side)) copyFileSync(this.databasePath + side, path + side);
      if (existsSync(this.inboxPath + side)) copyFileSync(this.inboxPath + side, inboxPath(path) + side);
    }
  }
}

interface Held {
  readonly name: DiskName;
  readonly user: DiskUser;
  readonly db: Db;
  readonly check: () => void;
  readonly exec: (sql: string) => Db;
  readonly end: (isOrderly: boolean) => void;
}

function contentOf(path: string): Buffer | null {
  return existsSync(path) ? readFileSync(path) : null;
}

/** A database of another program. */
function foreignDatabase(): Buffer {
  const db = new Database(':memory:');
  db.exec('PRAGMA application_id = 4242; CREATE TABLE accounts (id INTEGER PRIMARY KEY)');
  const bytes = db.serialize();
  db.close();
  return bytes;
}

/** As `stock-mirror backup` leaves it. */
export function asBackup(mirror: Uint8Array): Uint8Array {
  const bytes = Buffer.from(mirror);
  // Bytes 18 and 19 of the header: a copy in memory has no write-ahead log.
  bytes.fill(1, 18, 20);
  const db = new Database(bytes);
  db.exec("UPDATE service_state SET is_backup = 1, state = 'stale', state_cause = 'stopped'");
  const backup = db.serialize();
  db.close();
  return backup;
}

function copyOf(db: Db): Uint8Array | null {
  try {
    return db.serialize();
  } catch (error) {
    // SQLite calls a page that it cannot read "out of memory" here.
    if (isSound(db)) throw error;
    return null;
  } finally {
    db.close();
  }
}

function isSound(db: Db): boolean {
  try {
    return db.pragma('quick_check', { simple: true }) === 'ok';
  } catch {
    return false;
  }
}

function overwrite(path: string, copy: Uint8Array): void {
  for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
  writeFileSync(path, copy);
}
