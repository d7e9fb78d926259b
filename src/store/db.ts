import type Database from 'better-sqlite3';

/** A connection to a file of SQLite. Beneath everything that opens one, so that none imports another for its name. */
export type Db = Database.Database;
