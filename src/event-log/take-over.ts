/**
 * Earlier versions kept the event log in the mirror's own file. It is copied out once, before the mirror's migration
 * drops it there: whole, synced and renamed into place, or not at all.
 */
import { existsSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { removeDatabase } from '../sqlite/database-files.ts';
import { explain } from '../sqlite/explain.ts';
import { makeTables } from './open-log.ts';
import { syncFile } from '../sqlite/sync-file.ts';

/** Does nothing when the event log is there already, or the mirror has none to give. @throws StoreError */
export function takeOverLog(databasePath: string, logPath: string): void {
  if (existsSync(logPath) || !existsSync(databasePath) || !hasLog(databasePath)) return;
  const draft = `${logPath}.draft`;
  removeDatabase(draft);
  explain(draft, () => {
    const db = new Database(draft);
    try {
      // Nothing else has it open, and a draft that is cut short is made again.
      db.pragma('journal_mode = OFF');
      db.pragma('synchronous = OFF');
      makeTables(db);
      db.prepare('ATTACH ? AS mirror').run(databasePath);
      db.transaction(() => {
        db.exec(
          `INSERT INTO main.log (seq, kind, at_ms, body_hash, payload)
             SELECT seq, kind, at_ms, body_hash, payload FROM mirror.log ORDER BY seq;
           UPDATE main.history SET (epoch, alive_at_ms) =
             (SELECT epoch, alive_at_ms FROM mirror.service_state);`,
        );
      })();
      db.exec('DETACH mirror');
    } finally {
      db.close();
    }
    syncFile(draft);
    renameSync(draft, logPath);
    syncFile(dirname(logPath));
  });
}

function hasLog(databasePath: string): boolean {
  return explain(databasePath, () => {
    const db = new Database(databasePath, { readonly: true });
    try {
      const tables = db
        .prepare<[], string>(
          `SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('log', 'service_state', '__drizzle_migrations')`,
        )
        .pluck()
        .all();
      return tables.length === 3;
    } finally {
      db.close();
    }
  });
}
