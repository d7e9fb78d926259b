#!/usr/bin/env node
/**
 * Keeps a copy of the mirror's stock by following its change feed: once a second, each change since the last one.
 *
 * usage: node follow-changes.mjs MIRROR COPY
 *
 * May be killed at any moment, and continues where it stopped. Needs: npm install better-sqlite3
 * The feed has no names; to copy them too, see poll-stock.mjs.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';

/** At most this many changes in one transaction: after a long absence the feed is long. */
const PAGE = 10_000;
const COPY = `
  CREATE TABLE IF NOT EXISTS stock (
    variant_id TEXT, warehouse_id TEXT, available_qty INTEGER, PRIMARY KEY (variant_id, warehouse_id)
  );
  CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT, seq INTEGER NOT NULL);
  INSERT OR IGNORE INTO position VALUES (1, NULL, 0);
`;

/**
 * The changes after the position, or the whole stock, in one short transaction. The file is opened each time: a
 * restored backup may be another file, and an open connection would stay with the old one. (`readonly` is `mode=ro`
 * of a URI.)
 */
function read(path, { epoch, seq }) {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
  const readAll = db.transaction(() => {
    const now = db
      .prepare('SELECT epoch, last_seq, pruned_change_seq, last_full_sync_at FROM mirror_status')
      .get();
    // Another epoch, changes that were pruned, or a number that was not issued.
    if (now.epoch !== epoch || now.pruned_change_seq > seq || now.last_seq < seq) {
      // The old rows stay until then.
      if (now.last_full_sync_at === null)
        throw new Database.SqliteError('the mirror has not read the whole store yet', 'SQLITE_BUSY');
      const stock = db
        .prepare('SELECT variant_id, warehouse_id, available_qty FROM mirror_stock')
        .raw()
        .all();
      return { epoch: now.epoch, seq: now.last_seq, stock, changes: [] };
    }
    const changes = db
      .prepare(
        'SELECT seq, variant_id, warehouse_id, new_qty FROM mirror_changes WHERE seq > ? ORDER BY seq LIMIT ?',
      )
      .all(seq, PAGE);
    return { epoch, seq: changes.at(-1)?.seq ?? seq, stock: null, changes };
  });
  try {
    return readAll();
  } finally {
    db.close();
  }
}

/** @returns how many changes there were. */
function poll(path, copy) {
  const { epoch, seq, stock, changes } = read(path, copy.prepare('SELECT epoch, seq FROM position').get());
  const put = copy.prepare('INSERT OR REPLACE INTO stock VALUES (?, ?, ?)');
  const remove = copy.prepare('DELETE FROM stock WHERE variant_id = ? AND warehouse_id = ?');
  // Rows and position in one transaction: both are kept, or neither.
  const keep = copy.transaction(() => {
    if (stock !== null) {
      process.stdout.write(`starting over: epoch ${epoch}\n`);
      copy.exec('DELETE FROM stock');
      for (const row of stock) put.run(row);
    }
    for (const { variant_id: variant, warehouse_id: warehouse, new_qty: qty } of changes) {
      // Here an ERP books the movement.
      if (warehouse === null) continue; // a variant's total, which no warehouse explains
      if (qty === null) remove.run(variant, warehouse);
      else put.run(variant, warehouse, qty);
    }
    copy.prepare('UPDATE position SET epoch = ?, seq = ?').run(epoch, seq);
  });
  keep();
  return changes.length;
}

const [path, copyPath] = process.argv.slice(2);
if (copyPath === undefined) {
  process.stderr.write('usage: node follow-changes.mjs MIRROR COPY\n');
  process.exit(2);
}
const copy = new Database(copyPath, { timeout: 5_000 });
copy.exec(COPY);
for (;;) {
  try {
    if (poll(path, copy) === PAGE) continue;
  } catch (error) {
    // Being started, restored or not there yet, nor its folder.
    if (!(error instanceof Database.SqliteError) && existsSync(dirname(path))) throw error;
    process.stderr.write(`not now: ${error.message}\n`);
  }
  await sleep(1_000);
}
