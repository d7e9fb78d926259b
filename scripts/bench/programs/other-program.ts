/**
 * An ERP on the mirror's file, as its own process: for a while it reads a million rows again and again, each time in
 * one transaction; then it holds the write lock, as a forgotten shell does.
 */
import { getPriority, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';

const [path = '', rows = '1000000', scanMs = '0', lockMs = '0'] = process.argv.slice(2);
// Like any other program, whatever priority what is measured has. Only root may raise one that is lower.
if (getPriority() < 0) setPriority(0);
const db = new Database(path, { timeout: 5_000 });
const held = db.prepare<[], number>('SELECT count(*) FROM mirror_stock').pluck().get() ?? 0;
const times = Math.max(1, Math.ceil(Number(rows) / Math.max(1, held)));
const scan = db.prepare<[number], { qty: number; ids: number }>(
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
   SELECT sum(available_qty) AS qty, sum(length(product_id) + length(sku)) AS ids FROM n CROSS JOIN mirror_stock`,
);
process.stdout.write(`${JSON.stringify({ msg: 'listening' })}\n`);
const untilMs = performance.now() + Number(scanMs);
while (performance.now() < untilMs) scan.get(times);
db.exec('BEGIN EXCLUSIVE');
await sleep(Number(lockMs));
db.exec('ROLLBACK');
