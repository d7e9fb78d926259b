/**
 * Follows the mirror into PostgreSQL. Usage: README.md.
 *
 * Rows and position are written in one transaction, so each side may be killed at any moment. After any failure the
 * connection is closed, which rolls back, and the position is read again: nothing is remembered outside the database.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { follow, type Batch, type Position, type RowKey, type Trust } from 'stock-mirror/feed';

const {
  STOCK_MIRROR_URL: url = 'http://127.0.0.1:8788',
  STOCK_MIRROR_TOKEN: token,
  DATABASE_URL: connectionString,
} = process.env;

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

const KEYS = 'json_to_recordset($1) AS given (variant_id text, warehouse_id text)';
const REMOVE = {
  stock: `
    DELETE FROM stock
    USING ${KEYS}
    WHERE (stock.variant_id, stock.warehouse_id) = (given.variant_id, given.warehouse_id)`,
  variants: `
    DELETE FROM variants
    USING ${KEYS}
    WHERE variants.variant_id = given.variant_id AND given.warehouse_id IS NULL`,
} as const;
type Table = keyof typeof REMOVE;
const TABLES = ['stock', 'variants'] as const satisfies readonly Table[];
const WAREHOUSE = { stock: 'stock.warehouse_id', variants: 'NULL::text' } as const;

/** The rows are no longer refused, unless they are refused again. */
const FORGET = `
  DELETE FROM stock_set_aside
  USING ${KEYS}
  WHERE stock_set_aside.target <> 'stock_changes'
    AND stock_set_aside.variant_id = given.variant_id
    AND stock_set_aside.warehouse_id IS NOT DISTINCT FROM given.warehouse_id`;

/**
 * The rows that are not trusted, null for all, and the reason if it is null; for some rows, after these as $1. Writes only
 * what differs, and no row that is set aside: the view trusts none of these.
 */
function trustOf(table: Table, { isOfSome }: { readonly isOfSome: boolean }): string {
  const [untrusted, reason] = isOfSome ? ['$2', '$3'] : ['$1', '$2'];
  const sameAs = (other: string): string =>
    `${other}.variant_id = ${table}.variant_id AND ${other}.warehouse_id IS NOT DISTINCT FROM ${WAREHOUSE[table]}`;
  return `
    UPDATE ${table}
    SET trusted = present.why_not IS NULL, why_not = present.why_not
    FROM (
      SELECT ${table}.variant_id, ${WAREHOUSE[table]} AS warehouse_id,
        CASE WHEN ${untrusted}::json IS NULL THEN ${reason} ELSE untrusted.why_not END AS why_not
      FROM ${table}
      ${isOfSome ? `JOIN ${KEYS} ON ${sameAs('given')}` : ''}
      LEFT JOIN json_to_recordset(coalesce(${untrusted}::json, '[]'))
          AS untrusted (variant_id text, warehouse_id text, why_not text)
        ON ${sameAs('untrusted')}
    ) AS present
    WHERE ${sameAs('present')}
      AND (
        ${table}.why_not IS DISTINCT FROM present.why_not
        OR ${table}.trusted <> (present.why_not IS NULL)
      )
      AND NOT EXISTS (
        SELECT
        FROM stock_set_aside AS aside
        WHERE aside.target = '${table}' AND ${sameAs('aside')}
      )`;
}

/** PostgreSQL has no U+0000, and no halves of characters. */
const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/** A database of any encoding takes it. In JSON it means the same. */
const ascii = (text: string): string =>
  text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const KEYS_OF_ROWS = new Set(['variant_id', 'warehouse_id']);

const jsonOf = (rows: readonly object[]): string =>
  JSON.stringify(rows, (name, value: unknown) =>
    // A key that loses a character may become another row's.
    typeof value === 'string' && !KEYS_OF_ROWS.has(name) ? clean(value) : value,
  );

/** An id has digits only. Another key, which a database may not hold, is in none of the tables. */
const hasCleanKey = ({ variant_id: variantId, warehouse_id: warehouseId }: RowKey): boolean =>
  /^[ -~]+$/.test(variantId + (warehouseId ?? ''));

/** Nothing but the key: the rest of a row may be what a database cannot hold. */
const keysOf = (rows: readonly RowKey[]): string =>
  JSON.stringify(
    rows.filter(hasCleanKey).map(({ variant_id, warehouse_id }) => ({ variant_id, warehouse_id })),
  );

const isTotal = ({ warehouse_id: warehouseId }: RowKey): boolean => warehouseId === null;

/**
 * Classes of errors that are not about the values: the connection, its transaction and statements, credentials, rights
 * and tables, conflicts with other transactions, and the server. All others are: data, constraints and limits, and what a
 * trigger raises, with a code of its own choice. A second try gives the same.
 */
const OF_OTHER_THINGS = /^(?:08|0A|25|26|28|34|3B|3D|3F|40|42|53|55|57|58|XX)/;
const isRefusal = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && !OF_OTHER_THINGS.test(error.code ?? '08');

/** @returns the error if PostgreSQL refuses these values, after undoing the statement. */
async function refusal(db: pg.Client, sql: string, values: readonly unknown[]): Promise<Error | null> {
  await db.query('SAVEPOINT attempt');
  try {
    await db.query(sql, [...values]);
    await db.query('RELEASE SAVEPOINT attempt');
    return null;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    await db.query('ROLLBACK TO SAVEPOINT attempt');
    return error as Error;
  }
}

interface Statement {
  readonly target: keyof typeof PUT;
  /** $1 rows as JSON. */
  readonly sql: string;
  readonly more?: readonly unknown[];
}

/** Writes all rows but those that are refused, which it finds by halves and sets aside. */
async function write(db: pg.Client, statement: Statement, rows: readonly RowKey[]): Promise<void> {
  const { target, sql, more = [] } = statement;
  const [row] = rows;
  if (row === undefined) return;
  const error = await refusal(db, sql, [jsonOf(rows), ...more]);
  if (error === null) return;
  if (rows.length === 1) return setAside(db, target, row, error);
  const half = Math.ceil(rows.length / 2);
  await write(db, statement, rows.slice(0, half));
  await write(db, statement, rows.slice(half));
}

/** Its old version is removed. If that is refused, too, it stays, and the view does not trust it. */
async function setAside(
  db: pg.Client,
  target: Statement['target'],
  row: RowKey,
  error: Error,
): Promise<void> {
  if (target !== 'stock_changes') await refusal(db, REMOVE[target], [keysOf([row])]);
  const text = ascii(JSON.stringify(row));
  console.error(`set aside for ${target}: ${text.slice(0, 500)}: ${error.message}`);
  const { variant_id: variantId, warehouse_id: warehouseId } = row;
  await db.query(
    'INSERT INTO stock_set_aside (target, variant_id, warehouse_id, row_text, error) VALUES ($1, $2, $3, $4, $5)',
    [target, ascii(variantId), warehouseId === null ? null : ascii(warehouseId), text, ascii(error.message)],
  );
}

async function keysIn(db: pg.Client, table: Table): Promise<RowKey[]> {
  const { rows } = await db.query<RowKey>(
    `SELECT variant_id, ${WAREHOUSE[table]} AS warehouse_id FROM ${table}`,
  );
  return rows;
}

async function clear(db: pg.Client): Promise<void> {
  await db.query(`DELETE FROM stock_set_aside WHERE target <> 'stock_changes'`);
  for (const target of TABLES) {
    if ((await refusal(db, `DELETE FROM ${target}`, [])) === null) continue;
    await write(db, { target, sql: REMOVE[target] }, await keysIn(db, target));
  }
}

async function setTrust(db: pg.Client, { untrusted, cause, state }: Trust): Promise<void> {
  const values = [untrusted === null ? null : jsonOf(untrusted.filter(hasCleanKey)), cause ?? state];
  for (const target of TABLES) {
    if ((await refusal(db, trustOf(target, { isOfSome: false }), values)) === null) continue;
    const sql = trustOf(target, { isOfSome: true });
    await write(db, { target, sql, more: values }, await keysIn(db, target));
  }
}

async function take(db: pg.Client, batch: Batch): Promise<void> {
  if (batch.kind === 'trust') {
    await setTrust(db, batch.trust);
    // Without an answer of the mirror nothing is confirmed.
    if (batch.trust.cause !== 'unreachable') await db.query('UPDATE stock_position SET confirmed_at = now()');
    return;
  }
  if (batch.kind === 'snapshot' && batch.isFirst) {
    await clear(db);
    await db.query('UPDATE stock_position SET started_over_at = now(), confirmed_at = NULL');
    console.log(`starting over: ${batch.why}`);
  }
  const { rows, removed } = batch;
  await db.query(FORGET, [keysOf([...rows, ...removed])]);
  for (const target of TABLES) {
    const gone = removed.filter((key) => hasCleanKey(key) && isTotal(key) === (target === 'variants'));
    await write(db, { target, sql: REMOVE[target] }, gone);
    const kept = rows.filter((row) => isTotal(row) === (target === 'variants'));
    await write(db, { target, sql: PUT[target] }, kept);
  }
  if (batch.kind !== 'changes') return;
  const { epoch } = batch.position;
  const changes = batch.changes.map((change) => ({ ...change, epoch }));
  await write(db, { target: 'stock_changes', sql: PUT.stock_changes }, changes);
}

async function begin(db: pg.Client, from: Position | null): Promise<void> {
  await db.query('BEGIN');
  // The server's side of a follower whose machine is gone would keep the position locked. Set here, not at the start
  // of the connection, because poolers refuse that.
  await db.query(`SET LOCAL idle_in_transaction_session_timeout = '2min'`);
  // A row that a deferred constraint refuses is found by its own statement.
  await db.query('SET CONSTRAINTS ALL IMMEDIATE');
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
    await take(db, batch);
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
