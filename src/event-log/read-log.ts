/** Reads the event log from a position on: for the projection. */
import { StoreError } from '../sqlite/errors.ts';
import type { Db } from '../sqlite/open.ts';
import type { LogRow } from './entries.ts';
import { messageOf } from '../platform/thrown.ts';

/** A slice of the event log: what the projection applies at once. */
const ENTRIES_AT_ONCE = 256;
const BYTES_AT_ONCE = 4 << 20;

export class LogReader {
  readonly #db: Db;
  readonly #after;

  /** @param db any connection to the event log. */
  constructor(db: Db) {
    this.#db = db;
    this.#after = db.prepare<[number, number], LogRow>(
      `SELECT seq, kind, at_ms AS atMs, payload FROM log WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ${ENTRIES_AT_ONCE}`,
    );
  }

  /** The next entries up to a position, in order: as many as are applied at once. Empty: there are none. */
  after(seq: number, lastSeq: number): LogRow[] {
    return readingLog(this.#db.name, () => this.#rowsAfter(seq, lastSeq));
  }

  #rowsAfter(seq: number, lastSeq: number): LogRow[] {
    const rows: LogRow[] = [];
    let bytes = 0;
    for (const row of this.#after.iterate(seq, lastSeq)) {
      rows.push(row);
      bytes += row.payload.byteLength;
      if (bytes >= BYTES_AT_ONCE) break;
    }
    return rows;
  }
}

/** A fault of the event log is none of the mirror that is being written from it. @throws StoreError */
export function readingLog<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const problem = messageOf(error);
    // Without its cause, by which a damaged mirror is told from others.
    throw new StoreError('unreachable', `the event log ${path} cannot be read: ${problem}`);
  }
}
