/**
 * Follows the mirror's change feed into PostgreSQL. Usage: README.md.
 *
 * Rows and position are written in one transaction, so each side may be killed at any moment. After any failure the
 * connection is closed, which rolls back, and the position is read again: nothing is remembered outside the database.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const {
  STOCK_MIRROR_URL: mirror = 'http://127.0.0.1:8788',
  STOCK_MIRROR_TOKEN: token,
  DATABASE_URL: connectionString,
} = process.env;
const LIMIT = 1_000;
const WAIT_S = 60;

interface Position {
  readonly epoch: string | null;
  /** A bigint, which `pg` gives as text. */
  readonly seq: string;
}
interface Changes {
  readonly epoch: string;
  readonly changes: readonly object[];
  readonly next: number;
}
interface Stock {
  readonly epoch: string;
  readonly last_seq: number;
  readonly stock: readonly object[];
  readonly next: string | null;
  readonly has_more: boolean;
}
interface Status {
  readonly epoch?: string;
  readonly last_full_sync_at?: number | null;
}

/** $1 a page of /api/stock. */
const FILL = `
  INSERT INTO stock (variant_id, warehouse_id, sku, available_qty, change_seq)
  SELECT * FROM json_to_recordset($1)
    AS r (variant_id text, warehouse_id text, sku text, available_qty bigint, change_seq bigint)`;

/**
 * $1 the epoch, $2 a page of /api/changes, $3 whether to record them in stock_changes too. A change that a row already
 * contains does not set it back. A change without a warehouse moves a variant's total, which `stock` does not have.
 */
const APPLY = `
  WITH page AS MATERIALIZED (
    SELECT * FROM json_to_recordset($2) AS r (
      seq bigint, variant_id text, warehouse_id text, sku text, old_qty bigint, new_qty bigint,
      source text, reason text, order_id text, user_id text, recorded_at bigint)
  ), recorded AS (
    INSERT INTO stock_changes (epoch, seq, variant_id, warehouse_id, sku, old_qty, new_qty,
      source, reason, order_id, user_id, recorded_at)
    SELECT $1, seq, variant_id, warehouse_id, sku, old_qty, new_qty,
      source, reason, order_id, user_id, to_timestamp(recorded_at / 1000.0)
    FROM page WHERE $3 ORDER BY seq
  ), last AS (
    SELECT DISTINCT ON (variant_id, warehouse_id) * FROM page WHERE warehouse_id IS NOT NULL
    ORDER BY variant_id, warehouse_id, seq DESC
  ), removed AS (
    DELETE FROM stock s USING last l
    WHERE (s.variant_id, s.warehouse_id) = (l.variant_id, l.warehouse_id) AND l.new_qty IS NULL AND s.change_seq < l.seq
  )
  INSERT INTO stock AS s (variant_id, warehouse_id, sku, available_qty, change_seq)
  SELECT variant_id, warehouse_id, sku, new_qty, seq FROM last WHERE new_qty IS NOT NULL
  ON CONFLICT (variant_id, warehouse_id) DO UPDATE
    SET sku = excluded.sku, available_qty = excluded.available_qty, change_seq = excluded.change_seq
    WHERE s.change_seq < excluded.change_seq`;

/** The feed cannot continue from the position. */
class StartOver extends Error {}

async function get<T>(path: string, query: Readonly<Record<string, string | number>>): Promise<T> {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  const response = await fetch(`${mirror}${path}?${String(new URLSearchParams(parameters))}`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout((WAIT_S + 30) * 1_000),
  });
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as T;
  if (response.status === 409 || response.status === 410) throw new StartOver(text);
  throw new Error(`${path} answered ${response.status}: ${text}`);
}

function changesAfter(epoch: string, after: string | number, waitS: number): Promise<Changes> {
  return get('/api/changes', { epoch, after, limit: LIMIT, wait_seconds: waitS });
}

/** Writes and moves the position together, unless another follower, or one that was killed, has moved it. */
async function advance(
  db: pg.Client,
  from: Position,
  write: () => Promise<{ readonly epoch: string; readonly seq: number }>,
): Promise<void> {
  await db.query('BEGIN');
  const locked = 'SELECT FROM stock_position WHERE epoch IS NOT DISTINCT FROM $1 AND seq = $2 FOR UPDATE';
  const { rowCount } = await db.query(locked, [from.epoch, from.seq]);
  if (rowCount !== 1) throw new Error('the position was moved by another follower');
  const to = await write();
  await db.query('UPDATE stock_position SET epoch = $1, seq = $2, answered_at = now()', [to.epoch, to.seq]);
  await db.query('COMMIT');
}

/** Replaces all rows. A mirror that has lost its file shows few rows until it has read the whole store: wait for that. */
async function startOver(db: pg.Client, from: Position, why: string): Promise<void> {
  const { epoch, last_full_sync_at: syncedAt } = await get<Status>('/api/status', {});
  if (epoch === undefined || typeof syncedAt !== 'number')
    throw new Error('the mirror has not read the whole store yet');
  await advance(db, from, async () => {
    await db.query('DELETE FROM stock');
    let seq = Infinity;
    let lastSeq = 0;
    for (let after: string | null | undefined; after !== null;) {
      const page: Stock = await get('/api/stock', {
        limit: LIMIT,
        ...(after === undefined ? {} : { after }),
      });
      if (page.epoch !== epoch) throw new Error('the mirror has begun a new epoch meanwhile');
      await db.query(FILL, [JSON.stringify(page.stock)]);
      lastSeq = page.last_seq;
      seq = Math.min(seq, lastSeq);
      after = page.has_more ? page.next : null;
    }
    // The pages were read one after the other. Once what changed meanwhile is applied, all rows are of one moment.
    while (seq < lastSeq) {
      const page = await changesAfter(epoch, seq, 0);
      await db.query(APPLY, [epoch, JSON.stringify(page.changes), false]);
      seq = page.next;
    }
    await db.query('UPDATE stock_position SET started_over_at = now()');
    return { epoch, seq };
  });
  console.log(`started over in epoch ${epoch}: ${why}`);
}

async function follow(db: pg.Client): Promise<void> {
  await db.connect();
  for (;;) {
    const { rows } = await db.query<Position>('SELECT epoch, seq FROM stock_position');
    const [from] = rows;
    if (from === undefined) throw new Error('stock_position is empty: run schema.sql');
    const { epoch, seq } = from;
    if (epoch === null) {
      await startOver(db, from, 'first start');
      continue;
    }
    try {
      const page = await changesAfter(epoch, seq, WAIT_S);
      await advance(db, from, async () => {
        await db.query(APPLY, [epoch, JSON.stringify(page.changes), true]);
        return { epoch, seq: page.next };
      });
    } catch (error) {
      if (!(error instanceof StartOver)) throw error;
      await startOver(db, from, error.message);
    }
  }
}

for (;;) {
  const db = new pg.Client({
    connectionString,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
    // The server's side of a follower whose machine is gone would keep the position locked.
    idle_in_transaction_session_timeout: 120_000,
  });
  // A connection lost while idle; the next query fails.
  db.on('error', () => undefined);
  try {
    await follow(db);
  } catch (error) {
    console.error('not now:', error instanceof Error ? error.message : error);
  }
  void db.end().catch(() => undefined);
  await sleep(1_000);
}
