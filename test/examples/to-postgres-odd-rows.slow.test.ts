/** examples/to-postgres through PgBouncer, from a mirror whose rows PostgreSQL cannot hold. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { watch } from '../cli/harness.ts';
import { change, FakeMirror, row, sent, TRUST } from '../feed/fake-mirror.ts';
import { eventually, temporaryFolder, type Owner } from '../process/harness.ts';
import { freePort } from '../shared/free-port.ts';
import { exampleCopy } from './example-copy.ts';
import { isInstalled, kill, startPostgres, type Postgres } from './postgres.ts';

const PGBOUNCER = '/usr/sbin/pgbouncer';
const hasPooler = existsSync(PGBOUNCER);

/** In transaction mode, where each transaction may get another connection. */
async function pooled(t: Owner, postgres: Postgres): Promise<string> {
  const socketFolder = new URL(postgres.url.replace('@/', '@localhost/')).searchParams.get('host') ?? '';
  const port = String(await freePort());
  const folder = temporaryFolder(t);
  const users = join(folder, 'users.txt');
  writeFileSync(users, '"postgres" ""\n');
  const config = join(folder, 'pgbouncer.ini');
  writeFileSync(
    config,
    `[databases]
postgres = host=${socketFolder} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
`,
  );
  const user = process.getuid?.() === 0 ? { uid: 65534 } : {};
  chmodSync(folder, 0o755);
  const pooler = watch(spawn(PGBOUNCER, [config], user));
  t.onTestFinished(() => kill(pooler));
  await eventually(() => pooler.stderr.includes('process up'), { what: 'PgBouncer listens' });
  return `postgresql://postgres@127.0.0.1:${port}/postgres`;
}

const LONG = 'x'.repeat(10_000);
const HALF = '\ud800';
/** Longer than an index takes, also when it is compressed. */
const LONG_ID = Array.from({ length: 200 }, (_, n) =>
  createHash('sha512').update(String(n)).digest('hex'),
).join('');

for (const isPooled of [false, true]) {
  const canRun = isInstalled && (hasPooler || !isPooled);
  test.skipIf(!canRun)(
    `copies every row that PostgreSQL can hold, and sets the others aside${isPooled ? ', through PgBouncer' : ''}`,
    async (t) => {
      const postgres = await startPostgres(t);
      const mirror = await new FakeMirror().start();
      const odd = [
        row('1', { sku: 'a\u0000b', product_name: `c${HALF}d` }),
        row('2', { sku: LONG }),
        row('3', { available_qty: 1e30 }),
        row('4', { available_qty: 1.5 }),
        row('5', { sku: '😀\u202e' }),
        row('6', { available_qty: Number.MAX_SAFE_INTEGER }),
        row('7', { warehouse_id: null, available_qty: 3 }),
        row('8\u0000'),
        row(LONG_ID),
      ];
      mirror.rows = odd;
      mirror.stream(
        `id: 2\n${sent('change', change(2, '1', { reason: 'r\u0000', order_id: `o${HALF}` }))}`,
        `id: 3\n${sent('change', change(3, '3', { new_qty: 1e30 }))}id: 3\n\n`,
        sent('trust', {
          ...TRUST,
          untrusted: [
            { variant_id: '5', warehouse_id: '1', why_not: 'gap' },
            { variant_id: '8\u0000', warehouse_id: '1', why_not: 'gap' },
          ],
        }),
      );
      const env = {
        STOCK_MIRROR_URL: mirror.url,
        DATABASE_URL: isPooled ? await pooled(t, postgres) : postgres.url,
      };
      const follower = watch(
        spawn(process.execPath, [join(exampleCopy(t, 'to-postgres'), 'follow.ts')], { env }),
      );
      t.onTestFinished(() => kill(follower));
      const isTrusted = 'SELECT 1 FROM sellable WHERE trusted';
      await eventually(async () => (await postgres.query(isTrusted)).length > 0, { what: follower.stderr });
      expect(
        await postgres.query(
          'SELECT variant_id, left(sku, 4) AS sku, product_name, trusted FROM sellable ORDER BY variant_id',
        ),
      ).toEqual([
        { variant_id: '1', sku: 'ab', product_name: 'c\ufffdd', trusted: true },
        { variant_id: '2', sku: 'xxxx', product_name: 'Lamp', trusted: true },
        { variant_id: '5', sku: '😀\u202e', product_name: 'Lamp', trusted: false },
        { variant_id: '6', sku: 'SKU-', product_name: 'Lamp', trusted: true },
        { variant_id: '7', sku: 'SKU-', product_name: 'Lamp', trusted: true },
      ]);
      const changes = await postgres.query('SELECT seq::int, reason, order_id FROM stock_changes');
      expect(changes).toEqual([{ seq: 2, reason: 'r', order_id: 'o\ufffd' }]);
      const aside = await postgres.query<{ target: string; start: string }>(
        'SELECT target, left(row_text, 20) AS start FROM stock_set_aside ORDER BY id',
      );
      expect(aside.filter(({ target }) => target === 'stock').length).toBeGreaterThanOrEqual(4);
      expect(aside.filter(({ target }) => target === 'stock_changes')).toHaveLength(1);
    },
  );
}
