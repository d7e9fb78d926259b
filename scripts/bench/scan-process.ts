/** An ERP that reads everything again and again, as its own process does: a million rows in one transaction each time. */
import { getPriority, setPriority } from 'node:os';
import Database from 'better-sqlite3';

const [path = '', rows = '1000000'] = process.argv.slice(2);
// Like any other program, whatever priority what is measured has. Only root may raise one that is lower.
if (getPriority() < 0) setPriority(0);
const db = new Database(path, { readonly: true });
const held = db.prepare<[], number>('SELECT count(*) FROM mirror_stock').pluck().get() ?? 0;
const times = Math.max(1, Math.ceil(Number(rows) / Math.max(1, held)));
const scan = db.prepare<[number], { qty: number; ids: number }>(
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
   SELECT sum(available_qty) AS qty, sum(length(product_id) + length(sku)) AS ids FROM n CROSS JOIN mirror_stock`,
);
process.stdout.write(`${JSON.stringify({ msg: 'listening' })}\n`);
for (;;) scan.get(times);
