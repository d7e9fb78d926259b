/**
 * Follows the mirror into PostgreSQL. Usage: README.md.
 *
 * Rows and position are written in one transaction, so each side may be killed at any moment. After any failure the
 * connection is closed, which rolls back, and the position is read again: nothing is remembered outside the database.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { follow, type Batch, type Position, type RowKey } from 'stock-mirror/feed';

const {
  STOCK_MIRROR_URL: url = 'http://127.0.0.1:8788',
  STOCK_MIRROR_TOKEN: token,
  DATABASE_URL: connectionString,
} = process.env;

type Row = Readonly<Record<string, unknown>>;

const NAMES = 'sku, product_name, variant_name';
const REST = 'available_qty, allow_negative_stock, change_seq, trusted, why_not';
const TYPES = `variant_id text, warehouse_id text, sku text, product_name text, variant_name text, warehouse_name text,
  available_qty bigint, allow_negative_stock integer, change_seq bigint, trusted integer, why_not text`;

/** $1 rows as JSON. */
const PUT = {
  stock: `
    INSERT INTO stock (variant_id, warehouse_id, ${NAMES}, warehouse_name, ${REST})
    SELECT variant_id, warehouse_id, ${NAMES}, warehouse_name, available_qty, allow_negative_stock = 1, change_seq,
      trusted = 1, why_not
    FROM json_to_recordset($1) AS given (${TYPES})
    ON CONFLICT (variant_id, warehouse_id) DO UPDATE SET
      (${NAMES}, warehouse_name, ${REST}) =
        (SELECT excluded.sku, excluded.product_name, excluded.variant_name, excluded.warehouse_name,
          excluded.available_qty, excluded.allow_negative_stock, excluded.change_seq,
          excluded.trusted, excluded.why_not)`,
  variants: `
    INSERT INTO variants (variant_id, ${NAMES}, ${REST})
    SELECT variant_id, ${NAMES}, available_qty, allow_negative_stock = 1, change_seq, trusted = 1, why_not
    FROM json_to_recordset($1) AS given (${TYPES})
    ON CONFLICT (variant_id) DO UPDATE SET
      (${NAMES}, ${REST}) =
        (SELECT excluded.sku, excluded.product_name, excluded.variant_name,
          excluded.available_qty, excluded.allow_negative_stock, excluded.change_seq,
          excluded.trusted, excluded.why_not)`,
  stock_changes: `
    INSERT INTO stock_changes (epoch, seq, variant_id, warehouse_id, sku, old_qty, new_qty,
      source, reason, order_id, user_id, recorded_at)
    SELECT epoch, seq, variant_id, warehouse_id, sku, old_qty, new_qty,
      source, reason, order_id, user_id, to_timestamp(recorded_at / 1000.0)
    FROM json_to_recordset($1) AS given (epoch text, seq bigint, variant_id text, warehouse_id text, sku text,
      old_qty bigint, new_qty bigint, source text, reason text, order_id text, user_id text, recorded_at bigint)
    ORDER BY seq`,
} as const;

const KEYS = 'json_to_recordset($1) AS gone (variant_id text, warehouse_id text)';
const REMOVE = {
  stock: `
    DELETE FROM stock
    USING ${KEYS}
    WHERE (stock.variant_id, stock.warehouse_id) = (gone.variant_id, gone.warehouse_id)`,
  variants: `
    DELETE FROM variants
    USING ${KEYS}
    WHERE variants.variant_id = gone.variant_id AND gone.warehouse_id IS NULL`,
} as const;

/** $1 the rows that are not trusted, null for all; $2 the reason if it is null. Writes only what differs. */
const trustOf = (table: 'stock' | 'variants', warehouse: string): string => `
  UPDATE ${table}
  SET trusted = present.why_not IS NULL, why_not = present.why_not
  FROM (
    SELECT ${table}.variant_id, ${warehouse} AS warehouse_id,
      CASE WHEN $1::json IS NULL THEN $2 ELSE untrusted.why_not END AS why_not
    FROM ${table}
    LEFT JOIN json_to_recordset(coalesce($1::json, '[]'))
        AS untrusted (variant_id text, warehouse_id text, why_not text)
      ON untrusted.variant_id = ${table}.variant_id AND untrusted.warehouse_id IS NOT DISTINCT FROM ${warehouse}
  ) AS present
  WHERE present.variant_id = ${table}.variant_id
    AND present.warehouse_id IS NOT DISTINCT FROM ${warehouse}
    AND (
      ${table}.why_not IS DISTINCT FROM present.why_not
      OR ${table}.trusted <> (present.why_not IS NULL)
    )`;
const TRUST = [trustOf('stock', 'stock.warehouse_id'), trustOf('variants', 'NULL::text')];

/** PostgreSQL has no U+0000, and no halves of characters. */
const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed();

const KEYS_OF_ROWS = new Set(['variant_id', 'warehouse_id']);

const jsonOf = (rows: readonly object[]): string =>
  JSON.stringify(rows, (name, value: unknown) =>
    // A key that loses a character may become another row's.
    typeof value === 'string' && !KEYS_OF_ROWS.has(name) ? clean(value) : value,
  );

/** A key that PostgreSQL cannot hold is in none of the tables. */
const hasCleanKey = ({ variant_id: variantId, warehouse_id: warehouseId }: RowKey): boolean =>
  clean(variantId) === variantId && (warehouseId === null || clean(warehouseId) === warehouseId);

/** Classes of errors that are about the values: 22 data, 23 constraints, 54 limits. A second try gives the same. */
const isRefusal = (error: unknown): boolean =>
  /^(?:22|23|54)/.test(String((error as { code?: unknown }).code));

/** @returns the error if PostgreSQL refuses these values, after undoing the statement. */
async function refusal(db: pg.Client, sql: string, rows: readonly object[]): Promise<Error | null> {
  await db.query('SAVEPOINT attempt');
  try {
    await db.query(sql, [jsonOf(rows)]);
    await db.query('RELEASE SAVEPOINT attempt');
    return null;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    await db.query('ROLLBACK TO SAVEPOINT attempt');
    return error as Error;
  }
}

/** Writes rows; if one is refused, all others. The refused one is set aside, and its old version removed. */
async function put(db: pg.Client, target: keyof typeof PUT, rows: readonly object[]): Promise<void> {
  if (rows.length === 0 || (await refusal(db, PUT[target], rows)) === null) return;
  for (const row of rows) {
    const error = await refusal(db, PUT[target], [row]);
    if (error === null) continue;
    if (target !== 'stock_changes') await refusal(db, REMOVE[target], [row]);
    const text = JSON.stringify(row);
    console.error(`set aside for ${target}: ${text.slice(0, 500)}: ${error.message}`);
    const insert = 'INSERT INTO stock_set_aside (target, row_text, error) VALUES ($1, $2, $3)';
    await db.query(insert, [target, clean(text), clean(error.message)]);
  }
}

async function write(db: pg.Client, batch: Batch): Promise<void> {
  if (batch.kind === 'trust') {
    const { untrusted, cause, state } = batch.trust;
    const values = [untrusted === null ? null : jsonOf(untrusted.filter(hasCleanKey)), cause ?? state];
    for (const sql of TRUST) await db.query(sql, values);
    // Without an answer of the mirror nothing is confirmed.
    if (cause !== 'unreachable') await db.query('UPDATE stock_position SET confirmed_at = now()');
    return;
  }
  if (batch.kind === 'snapshot' && batch.isFirst) {
    await db.query('DELETE FROM stock');
    await db.query('DELETE FROM variants');
    await db.query('UPDATE stock_position SET started_over_at = now(), confirmed_at = NULL');
    console.log(`starting over: ${batch.why}`);
  }
  const removed = jsonOf(batch.removed.filter(hasCleanKey));
  await db.query(REMOVE.stock, [removed]);
  await db.query(REMOVE.variants, [removed]);
  const isTotal = ({ warehouse_id: warehouseId }: RowKey): boolean => warehouseId === null;
  await put(
    db,
    'stock',
    batch.rows.filter((row) => !isTotal(row)),
  );
  await put(db, 'variants', batch.rows.filter(isTotal));
  if (batch.kind !== 'changes') return;
  const { epoch } = batch.position;
  await put(
    db,
    'stock_changes',
    batch.changes.map((change): Row => ({ ...change, epoch })),
  );
}

async function begin(db: pg.Client, from: Position | null): Promise<void> {
  await db.query('BEGIN');
  // The server's side of a follower whose machine is gone would keep the position locked. Set here, not at the start
  // of the connection, because poolers refuse that.
  await db.query(`SET LOCAL idle_in_transaction_session_timeout = '2min'`);
  const locked = 'SELECT FROM stock_position WHERE epoch IS NOT DISTINCT FROM $1 AND seq = $2 FOR UPDATE';
  const { rowCount } = await db.query(locked, [from?.epoch ?? null, from?.seq ?? 0]);
  if (rowCount !== 1) throw new Error('the position was moved by another follower');
}

async function copy(db: pg.Client): Promise<void> {
  await db.connect();
  const { rows } = await db.query<{ epoch: string | null; seq: string }>(
    'SELECT epoch, seq FROM stock_position',
  );
  const [stored] = rows;
  if (stored === undefined) throw new Error('stock_position is empty: run schema.sql');
  let position = stored.epoch === null ? null : { epoch: stored.epoch, seq: Number(stored.seq) };
  let isOpen = false;
  const onProblem = ({ message }: Error): void => console.error('not now:', message);
  for await (const batch of follow({ url, token, position, onProblem })) {
    if (!isOpen) await begin(db, position);
    isOpen = batch.position === null;
    await write(db, batch);
    if (batch.position === null) continue;
    position = batch.position;
    await db.query('UPDATE stock_position SET epoch = $1, seq = $2', [position.epoch, position.seq]);
    await db.query('COMMIT');
  }
}

for (;;) {
  const db = new pg.Client({
    connectionString,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
  });
  // A connection lost while idle; the next query fails.
  db.on('error', () => undefined);
  try {
    await copy(db);
  } catch (error) {
    console.error('not now:', error instanceof Error ? error.message : error);
  }
  void db.end().catch(() => undefined);
  await sleep(1_000);
}
