import Database from 'better-sqlite3';
import { explain } from '../../sqlite/explain.ts';
import { ok, type Finding } from './check.ts';

/** @throws SqliteFault if SQLite cannot be loaded. */
export function checkSystem(): Finding {
  return explain('SQLite', () => {
    const db = new Database(':memory:');
    const version = String(db.prepare<[], string>('SELECT sqlite_version()').pluck().get());
    db.close();
    return ok(`SQLite ${version}, Node ${process.versions.node}, ${process.platform} ${process.arch}`);
  });
}
