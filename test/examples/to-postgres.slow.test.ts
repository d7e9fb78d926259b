/** examples/to-postgres follows a mirror into a real PostgreSQL server; each of the three is killed. */
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { watch, type RunningCommand } from '../cli/harness.ts';
import { startLoad } from '../process/load.ts';
import {
  eventually,
  plainVariants,
  resync,
  rows,
  startMirror,
  startService,
  untilAtRest,
  untilQuiet,
  type Owner,
  type RunningMirror,
} from '../process/harness.ts';
import { freePort } from '../shared/free-port.ts';
import { exampleCopy } from './example-copy.ts';
import { isInstalled, kill, startPostgres, type Postgres } from './postgres.ts';

const ERP = join(import.meta.dirname, '../../examples/to-postgres/erp.sql');
const titleOf = (what: string): string =>
  isInstalled ? what : `${what} (skipped: the package postgresql is not installed)`;

async function startAll(t: Owner, products: number) {
  const postgres = await startPostgres(t);
  const sandbox = await startService(t, { products });
  const OPS_PORT = String(await freePort());
  const env = { STOCK_MIRROR_URL: `http://127.0.0.1:${OPS_PORT}`, DATABASE_URL: postgres.url };
  const folder = exampleCopy(t, 'to-postgres');
  const follow = (): RunningCommand => watch(spawn(process.execPath, [join(folder, 'follow.ts')], { env }));
  const mirrorIn = (folder?: string): Promise<RunningMirror> =>
    startMirror(t, sandbox, { env: { OPS_PORT }, ...(folder === undefined ? {} : { folder }) });
  return { postgres, sandbox, follow, mirrorIn };
}

async function untilMoved(postgres: Postgres): Promise<void> {
  const position = 'SELECT seq FROM stock_position';
  const before = await postgres.query(position);
  const isMoved = async (): Promise<boolean> => !isDeepStrictEqual(await postgres.query(position), before);
  await eventually(isMoved, { what: 'the follower continues' });
}

/** The copy's rows and the mirror's. */
async function compare(postgres: Postgres, path: string): Promise<[string[], string[]]> {
  const columns =
    'variant_id, warehouse_id, sku, CAST(available_qty AS integer) AS qty, CAST(trusted AS integer) AS trusted, why_not FROM';
  const order = (some: unknown[]): string[] => some.map((row) => JSON.stringify(row)).sort();
  return [
    order(await postgres.query(`SELECT ${columns} sellable`)),
    order(rows(path, `SELECT ${columns} mirror_sellable`)),
  ];
}

async function untilCopied(postgres: Postgres, path: string): Promise<void> {
  await eventually(async () => isDeepStrictEqual(...(await compare(postgres, path))), {
    what: 'a copy equal to the mirror',
  });
}

/** Levels for which the ERP's movements do not add up to the stock. */
const NOT_BOOKED = `
  SELECT *
  FROM stock
  FULL JOIN (
    SELECT variant_id, warehouse_id, sum(delta) AS booked
    FROM erp_movements
    GROUP BY variant_id, warehouse_id
  ) AS movements USING (variant_id, warehouse_id)
  WHERE coalesce(available_qty, 0) <> coalesce(booked, 0)`;

test.skipIf(!isInstalled)(
  titleOf('records each change once, with the rows, through kill -9 of follower, server and mirror'),
  async (t) => {
    // More levels than a page of /api/stock has.
    const { postgres, sandbox, follow, mirrorIn } = await startAll(t, 400);
    let follower = follow();
    await eventually(() => follower.stderr.includes('not now'), { what: 'it waits for the mirror' });
    let mirror = await mirrorIn();
    const folder = dirname(mirror.databasePath);
    const load = startLoad(t, sandbox, 100);
    const isCopied = 'SELECT 1 FROM stock_position WHERE epoch IS NOT NULL';
    await eventually(async () => (await postgres.query(isCopied)).length === 1, { what: 'the first copy' });
    expect(follower.stdout).toContain('starting over: first');
    await postgres.run(ERP);
    const differences = `SELECT * FROM erp_movements WHERE reason = 'difference'`;
    const opening = await postgres.query(differences);
    expect(await postgres.query('SELECT count(*) > 1000 AS many FROM stock')).toEqual([{ many: true }]);
    // Two reads that are half a minute apart must miss it.
    const { productId } = plainVariants(sandbox, 7)[6];
    sandbox.operations.deleteProduct(productId);
    await resync(mirror, { product_ids: [productId] });

    for (const killed of ['follower', 'server', 'mirror', 'follower']) {
      await untilMoved(postgres);
      // In the middle of a transaction: the changes are written, the rows wait for the lock.
      const other = await postgres.connect();
      await other.query('BEGIN; LOCK TABLE stock IN EXCLUSIVE MODE');
      const waits = 'SELECT FROM pg_locks WHERE NOT granted';
      await eventually(async () => (await other.query(waits)).rowCount === 1, {
        what: 'it waits for the lock',
      });
      if (killed === 'follower') {
        await kill(follower);
        follower = follow();
      } else if (killed === 'server') {
        await postgres.kill();
        await postgres.start();
      } else {
        await mirror.kill();
        mirror = await mirrorIn(folder);
      }
      await other.end();
      await untilMoved(postgres);
      await postgres.run(ERP);
    }
    load.stop();
    await untilAtRest(mirror, sandbox);
    await untilCopied(postgres, mirror.databasePath);

    // A bigint comes as text, a float8 as a number.
    const columns = 'variant_id, warehouse_id, reason, order_id, user_id';
    const recorded = await postgres.query<{ seq: number }>(
      `SELECT seq::float8, old_qty::float8, new_qty::float8, ${columns} FROM stock_changes ORDER BY id`,
    );
    const made = rows(
      mirror.databasePath,
      `SELECT seq, old_qty, new_qty, ${columns} FROM mirror_changes WHERE seq >= ? ORDER BY seq`,
      recorded[0]?.seq,
    );
    expect(recorded).toEqual(made);
    expect(made).toContainEqual(expect.objectContaining({ reason: 'removed', new_qty: null }));
    // What was booked adds up without any correction.
    await postgres.run(ERP);
    expect(await postgres.query(NOT_BOOKED)).toEqual([]);
    expect(await postgres.query(differences)).toEqual(opening);

    // What happens between two starts is booked as a difference.
    await kill(follower);
    await postgres.query('UPDATE stock_position SET seq = seq + 1000000000');
    sandbox.operations.add({ ...plainVariants(sandbox, 1)[0], by: 5 });
    await untilQuiet(mirror, sandbox);
    follower = follow();
    await eventually(() => follower.stdout.includes('starting over: ahead'), { what: 'it starts over' });
    await untilCopied(postgres, mirror.databasePath);
    await postgres.run(ERP);
    expect(await postgres.query(NOT_BOOKED)).toEqual([]);
    expect(await postgres.query(differences)).toHaveLength(opening.length + 1);
  },
);
