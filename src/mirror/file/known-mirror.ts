import { statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { SqliteFault } from '../../sqlite/errors.ts';
import { knownSchemaVersion, refuseUnknownSchema } from '../../sqlite/migrate.ts';

/** "smmr", in the header of the file: a damaged file still shows whose it is. */
export const MIRROR_APPLICATION_ID = 0x736d6d72;
export function refuseNoMirror(path: string, db: Database.Database): void {
  refuseUnknownSchema(path, db);
  const tables = db.prepare<[], number>('SELECT count(*) FROM sqlite_master').pluck().get();
  if (tables !== 0) return;
  throw new SqliteFault('not_a_database', `${path} is empty: start the mirror, which fills it.`);
}

export function refuseOlderSchema(path: string, db: Database.Database): void {
  const found = db.prepare<[], number>('SELECT count(*) FROM __drizzle_migrations').pluck().get() ?? 0;
  const known = knownSchemaVersion();
  if (found >= known) return;
  throw new SqliteFault(
    'older_schema',
    `${path} has schema version ${found}, this program reads ${known}: start the mirror to upgrade it.`,
  );
}

/** SQLite opens a folder without an error and fails on the first page. @throws SqliteFault */
export function refuseFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  throw new SqliteFault('unreachable', `${path} is a folder: set DATABASE_PATH to a file.`);
}
