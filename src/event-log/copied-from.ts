/**
 * How far this log is in step with another: a replica's, what it has copied; an outbox's, what the engine has acknowledged.
 * Other event logs have no such table.
 */
import { StoreError } from '../sqlite/errors.ts';
import type { Db } from '../sqlite/open.ts';

/** Which log, and how far. */
export interface CopiedFrom {
  /** For people: an address. */
  readonly origin: string;
  /** Opaque to all but the transport. JSON; null: nothing yet. */
  readonly cursor: unknown;
}

/** What a command would do would be undone, or make another history of it. @param path where another command may help. */
export function onlyCopied(origin: string, path: string | null = null): StoreError {
  const otherwise = path === null ? '' : '; or, to make it a mirror of its own, run `stock-mirror promote`.';
  return new StoreError(
    'is_copy',
    `${path ?? 'this mirror'} is a copy of ${origin}, and cannot be changed here: run the command there${otherwise}`,
  );
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS copied_from (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    origin TEXT NOT NULL,
    cursor TEXT NOT NULL
  ) STRICT`;

/** @param db any connection to an event log. @returns null when it is in step with no other. */
export function readCopiedFrom(db: Db): CopiedFrom | null {
  const isCopy = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'copied_from'").get() !== undefined;
  if (!isCopy) return null;
  const row = db
    .prepare<[], { origin: string; cursor: string }>('SELECT origin, cursor FROM copied_from')
    .get();
  return row === undefined ? null : { origin: row.origin, cursor: JSON.parse(row.cursor) as unknown };
}

/** In the caller's transaction. */
export function noteCopiedFrom(db: Db, { origin, cursor }: CopiedFrom): void {
  db.exec(TABLE);
  db.prepare('INSERT OR REPLACE INTO copied_from VALUES (1, ?, ?)').run(origin, JSON.stringify(cursor));
}

/** It is a copy no more. In the caller's transaction. */
export function forgetCopiedFrom(db: Db): void {
  db.exec('DROP TABLE copied_from');
}
