#!/usr/bin/env node
/**
 * Keeps a copy of what can be sold, and of what can be trusted, by following the mirror with the feed client.
 * Usage: README.md. May be killed at any moment, and continues where it stopped.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  follow,
  type Batch,
  type Position,
  type RowKey,
  type SellableRow,
  type Trust,
} from 'stock-mirror/feed';

const { STOCK_MIRROR_URL: url = 'http://127.0.0.1:8788', STOCK_MIRROR_TOKEN: token } = process.env;
const [path] = process.argv.slice(2);
if (path === undefined) {
  console.error('usage: node copy-stock.ts COPY');
  process.exit(2);
}

const copy = new DatabaseSync(path, { timeout: 5_000 });
copy.exec(readFileSync(join(import.meta.dirname, 'schema.sql'), 'utf8'));
const remove = copy.prepare('DELETE FROM stock WHERE variant_id = ? AND warehouse_id IS ?');
const insert = copy.prepare('INSERT INTO stock VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)');
const trustAll = copy.prepare('UPDATE stock SET why_not = NULL WHERE why_not IS NOT NULL');
const trustNone = copy.prepare('UPDATE stock SET why_not = ?');
const distrust = copy.prepare('UPDATE stock SET why_not = ? WHERE variant_id = ? AND warehouse_id IS ?');
const confirm = copy.prepare('UPDATE position SET confirmed_at = ?');
const move = copy.prepare('UPDATE position SET epoch = ?, seq = ?');

function drop(keys: readonly RowKey[]): void {
  for (const { variant_id: variantId, warehouse_id: warehouseId } of keys) remove.run(variantId, warehouseId);
}

function put(rows: readonly SellableRow[]): void {
  drop(rows);
  for (const row of rows) {
    insert.run(
      row.variant_id,
      row.warehouse_id,
      row.sku,
      row.product_name,
      row.variant_name,
      row.available_qty,
      row.allow_negative_stock,
      row.why_not,
    );
  }
}

function setTrust({ untrusted, cause, state }: Trust): void {
  if (untrusted === null) trustNone.run(cause ?? state);
  else {
    trustAll.run();
    for (const row of untrusted) distrust.run(row.why_not, row.variant_id, row.warehouse_id);
  }
  confirm.run(Math.floor(Date.now() / 1_000));
}

function write(batch: Batch): void {
  if (batch.kind === 'trust') {
    setTrust(batch.trust);
    return;
  }
  if (batch.kind === 'snapshot' && batch.isFirst) {
    copy.exec('DELETE FROM stock; UPDATE position SET confirmed_at = 0');
    console.log(`starting over: ${batch.why}`);
  }
  // Here an ERP books the movements in `batch.changes`.
  drop(batch.removed);
  put(batch.rows);
}

const stored = copy.prepare('SELECT epoch, seq FROM position WHERE epoch IS NOT NULL').get();
const onProblem = ({ message }: Error): void => console.error('not now:', message);
const options = { url, token, position: (stored as unknown as Position | undefined) ?? null, onProblem };
let isOpen = false;
for await (const batch of follow(options)) {
  // The parts of a snapshot are one transaction: the last one has a position.
  if (!isOpen) copy.exec('BEGIN IMMEDIATE');
  isOpen = batch.position === null;
  write(batch);
  if (batch.position === null) continue;
  move.run(batch.position.epoch, batch.position.seq);
  copy.exec('COMMIT');
}
