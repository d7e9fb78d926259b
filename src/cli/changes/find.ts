/** The change feed as a command reads it: from the file, page by page, without a running mirror. */
import { accessSync, constants } from 'node:fs';
import { attachEventLog } from '../../event-log/open-both.ts';
import { eventLogPath } from '../../event-log/open-log.ts';
import { changesAfter, lastChanges, position, type FeedPage } from '../../mirror/queries/changes.ts';
import { findFile, isAnotherFile, type FileIdentity } from '../../sqlite/file-identity.ts';
import type { Db } from '../../sqlite/open.ts';
import { openMirrorFile } from '../shared/mirror-file.ts';

const PAGE_ROWS = 1_000;

/** A mirror's file that may be replaced while it is followed. */
export class Feed {
  readonly #path: string;
  #db: Db;
  #file: FileIdentity;
  #isWithLog = false;
  #isInTrouble = false;
  #seenVersion: number | null = null;
  readonly #onTrouble: (error: unknown) => void;

  /** @param onTrouble called once when the file is gone, or another one that cannot be read yet is in its place. */
  constructor(path: string, onTrouble: (error: unknown) => void) {
    this.#path = path;
    this.#onTrouble = onTrouble;
    this.#db = openMirrorFile(path);
    this.#file = findFile(path);
  }

  /** Whether the file may hold more than when this was last asked. */
  hasMoved(): boolean {
    this.#followFile();
    const version = this.#db.pragma('data_version', { simple: true }) as number;
    const isNew = version !== this.#seenVersion;
    this.#seenVersion = version;
    return isNew;
  }

  page(after: number | null, sku: string | null): FeedPage {
    // Whether a mirror that is behind is being brought up to date is seen in the event log, if this user may read it.
    if (after !== null && after > position(this.#db).lastSeq && !this.#isWithLog) {
      if (!isReadable(eventLogPath(this.#path))) {
        const now = position(this.#db);
        return {
          ...now,
          issuedSeq: now.lastSeq,
          behind: null,
          mayEnterEpoch: false,
          changes: [],
          hasMore: false,
        };
      }
      attachEventLog(this.#db, this.#path);
      this.#isWithLog = true;
    }
    return changesAfter(this.#db, { after, limit: PAGE_ROWS, sku });
  }

  /** The last changes, the oldest of them first. */
  last(count: number, sku: string | null): FeedPage {
    return lastChanges(this.#db, { limit: count, sku });
  }

  close(): void {
    this.#db.close();
  }

  /** A mirror that is made anew, or restored, is another file: the one that is open would stand still for ever. */
  #followFile(): void {
    try {
      const found = findFile(this.#path);
      if (!isAnotherFile(this.#file, found)) return;
      const db = openMirrorFile(this.#path);
      this.#db.close();
      this.#db = db;
      this.#file = found;
      this.#isWithLog = false;
      this.#seenVersion = null;
      this.#isInTrouble = false;
    } catch (error) {
      if (!this.#isInTrouble) this.#onTrouble(error);
      this.#isInTrouble = true;
    }
  }
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
