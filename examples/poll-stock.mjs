#!/usr/bin/env node
/**
 * Keeps a copy of the mirror's stock up to date: once a second, the rows that changed since the last time.
 *
 * usage: node poll-stock.mjs MIRROR COPY
 *
 * May be killed at any moment, and continues where it stopped. Needs: npm install better-sqlite3
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';

const COLUMNS = 'variant_id, warehouse_id, sku, product_name, variant_name, available_qty, on_hand';
const COPY = `
  CREATE TABLE IF NOT EXISTS stock (
    variant_id TEXT, warehouse_id TEXT, sku TEXT, product_name TEXT, variant_name TEXT,
    available_qty INTEGER, on_hand INTEGER, PRIMARY KEY (variant_id, warehouse_id)
  );
  CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT, seq INTEGER NOT NULL);
  INSERT OR IGNORE INTO position VALUES (1, NULL, 0);
`;

/**
 * What has changed since the position, in one short transaction. The file is opened each time: a restored backup
 * may be another file, and an open connection would stay with the old one. (`readonly` is `mode=ro` of a URI.)
 */
function read(path, { epoch, seq }) {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
  const readAll = db.transaction(() => {
    const now = db
      .prepare('SELECT epoch, last_seq, pruned_change_seq, last_full_sync_at FROM mirror_status')
      .get();
    // Another epoch, removals that were pruned, or a number that was not issued.
    const startOver = now.epoch !== epoch || now.pruned_change_seq > seq || now.last_seq < seq;
    // The old rows stay until then.
    if (startOver && now.last_full_sync_at === null)
      throw new Database.SqliteError('the mirror has not read the whole store yet', 'SQLITE_BUSY');
    const since = startOver ? 0 : seq;
    const removed = db
      .prepare(`SELECT variant_id, warehouse_id FROM mirror_changes WHERE seq > ? AND reason = 'removed'`)
      .all(since);
    const rows = db.prepare(`SELECT ${COLUMNS} FROM mirror_stock WHERE change_seq > ?`).raw().all(since);
    return { startOver, epoch: now.epoch, seq: now.last_seq, removed, rows };
  });
  try {
    return readAll();
  } finally {
    db.close();
  }
}

function poll(path, copy) {
  const { startOver, epoch, seq, removed, rows } = read(
    path,
    copy.prepare('SELECT epoch, seq FROM position').get(),
  );
  // Rows and position in one transaction: both are kept, or neither.
  const keep = copy.transaction(() => {
    if (startOver) {
      process.stdout.write(`starting over: epoch ${epoch}\n`);
      copy.exec('DELETE FROM stock');
    }
    const remove = copy.prepare(
      'DELETE FROM stock WHERE variant_id = @variant_id AND warehouse_id = @warehouse_id',
    );
    const put = copy.prepare('INSERT OR REPLACE INTO stock VALUES (?, ?, ?, ?, ?, ?, ?)');
    // Removals first: a row that has come back is among the rows.
    for (const row of removed) remove.run(row);
    for (const row of rows) put.run(row);
    copy.prepare('UPDATE position SET epoch = ?, seq = ?').run(epoch, seq);
  });
  keep();
}

const [path, copyPath] = process.argv.slice(2);
if (copyPath === undefined) {
  process.stderr.write('usage: node poll-stock.mjs MIRROR COPY\n');
  process.exit(2);
}
const copy = new Database(copyPath, { timeout: 5_000 });
copy.exec(COPY);
for (;;) {
  try {
    poll(path, copy);
  } catch (error) {
    // Being started, restored or not there yet, nor its folder.
    if (!(error instanceof Database.SqliteError) && existsSync(dirname(path))) throw error;
    process.stderr.write(`not now: ${error.message}\n`);
  }
  await sleep(1_000);
}
