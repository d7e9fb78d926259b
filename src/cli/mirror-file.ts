/** The mirror's file, opened by a verb that only reads it. */
import { existsSync } from 'node:fs';
import { explain } from '../store/explain.ts';
import { refuseUnknownSchema } from '../store/migrate.ts';
import { openReader, type Db } from '../store/open.ts';

/** @throws StoreError, or Error when there is none. */
export function openMirrorFile(path: string): Db {
  if (!existsSync(path))
    throw new Error(`${path} does not exist: start the mirror with \`stock-mirror serve\` first`);
  const db = openReader(path);
  try {
    explain(path, () => {
      refuseUnknownSchema(path, db);
      // An empty file is one without tables.
      db.prepare('SELECT epoch FROM mirror_status').get();
    });
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
