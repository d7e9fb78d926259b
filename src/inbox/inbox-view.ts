/** The main thread's view of the inbox: the receiver's heartbeat and report, and whether something has arrived. */
import { readReceiver, type ReceiverRow } from './inbox-file.ts';
import type { ReceiverReport } from './report.ts';
import { holdFiles, type HeldFiles } from '../sqlite/held-files.ts';
import type { Db } from '../sqlite/open.ts';

/** How often a process without the receiver looks for new rows. */
const LOOK_EVERY_MS = 20;

interface OpenedInbox {
  readonly db: Db;
  readonly file: HeldFiles;
}

export class InboxView {
  readonly #open: () => Db;
  #opened: OpenedInbox | null = null;
  #version: unknown = null;

  constructor(open: () => Db) {
    this.#open = open;
  }

  /** The receiver's last heartbeat; null while the inbox cannot be read. */
  receiver(): ReceiverRow | null {
    return this.#read(readReceiver) ?? null;
  }

  /** Calls `onChange` soon after each commit to the inbox. @returns a function that ends it. */
  watch(onChange: () => void): () => void {
    const timer = setInterval(() => {
      const version = this.#read((db) => db.pragma('data_version', { simple: true }));
      if (version === this.#version) return;
      this.#version = version;
      onChange();
    }, LOOK_EVERY_MS);
    timer.unref();
    return () => clearInterval(timer);
  }

  close(): void {
    this.#opened?.db.close();
    this.#opened = null;
    // The next connection counts versions from the start.
    this.#version = null;
  }

  #read<T>(read: (db: Db) => T): T | null {
    try {
      // SQLite reads on in a file that was deleted, moved or replaced.
      if (this.#opened?.file.left().length === 0) this.close();
      this.#opened ??= this.#openAndHold();
      return read(this.#opened.db);
    } catch {
      // The apply thread reads the same file, and reports what is wrong with it.
      this.close();
      return null;
    }
  }

  #openAndHold(): OpenedInbox {
    const db = this.#open();
    return { db, file: holdFiles([db.name]) };
  }
}

/** null before the first heartbeat, or if a damaged file no longer shows it. */
export function reportOf(row: ReceiverRow | null): ReceiverReport | null {
  const json = row?.reportJson ?? null;
  try {
    return json === null ? null : (JSON.parse(json) as ReceiverReport);
  } catch {
    return null;
  }
}
