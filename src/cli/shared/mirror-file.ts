import { explain } from '../../sqlite/explain.ts';
import { refuseFolder, refuseNoMirror, refuseOlderSchema } from '../../mirror/file/known-mirror.ts';
import { openReader, type Db } from '../../sqlite/open.ts';
import { isThere } from '../../sqlite/is-there.ts';

/** @throws SqliteFault, or Error if there is no file. */
export function openMirrorFile(path: string): Db {
  if (!isThere(path))
    throw new Error(`${path} does not exist: run \`stock-mirror serve\` first, or correct DATABASE_PATH`);
  refuseFolder(path);
  const db = openReader(path);
  try {
    explain(path, () => {
      refuseNoMirror(path, db);
      refuseOlderSchema(path, db);
    });
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
