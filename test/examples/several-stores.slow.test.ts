/** examples/several-stores with two mirrors, each of a store of its own, behind one Caddy. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  eventually,
  notKept,
  rows,
  startBoth,
  startMirror,
  startService,
  temporaryFolder,
  untilLive,
  untilDelivered,
} from '../process/harness.ts';
import { freePort } from '../shared/free-port.ts';
import { lacking } from '../shared/programs.ts';

const EXAMPLE = join(import.meta.dirname, '../../examples/several-stores');
const read = (name: string): string => readFileSync(join(EXAMPLE, name), 'utf8');

const lacksCaddy = lacking('caddy');
test.skipIf(lacksCaddy !== '')(`one proxy leads each store to its own mirror${lacksCaddy}`, async (t) => {
  const port = String(await freePort());
  // In place of the containers' names: an address of this machine for each store.
  const stores = await Promise.all(
    ['127.0.0.2', '127.0.0.3'].map(async (HOST, i) => {
      const sandbox = await startService(t, { seed: i, ackTimeoutMs: 120_000 });
      const mirror = await startMirror(t, sandbox, { env: { HOST, PORT: port } });
      return { HOST, sandbox, mirror };
    }),
  );
  const folder = temporaryFolder(t);
  const sitePort = await freePort();
  const site = `http://127.0.0.1:${sitePort}`;
  const config = read('Caddyfile')
    .replace('shop|outlet', stores.map(({ HOST }) => HOST.replaceAll('.', '\\.')).join('|'))
    .replace(':8787', `:${port}`)
    .replace('{\n', `{\n\tadmin off\n\thttp_port ${sitePort}\n\thttps_port ${await freePort()}\n`);
  writeFileSync(join(folder, 'Caddyfile'), config);
  const caddy = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], {
    env: { PATH: process.env['PATH'], HOME: folder, WEBHOOK_HOST: 'http://127.0.0.1' },
    stdio: 'ignore',
  });
  const ended = once(caddy, 'exit');
  t.onTestFinished(async () => {
    caddy.kill('SIGKILL');
    await ended;
  });
  const statusOf = async (path: string): Promise<number> => (await fetch(site + path)).status;
  await eventually(() => statusOf('/'), { what: 'the proxy listens' });

  for (const { HOST, sandbox, mirror } of stores) {
    await untilLive(mirror);
    sandbox.webhookUrl = `${site}/${HOST}/webhooks`;
    sandbox.traffic.start(20);
  }
  for (const { HOST, sandbox, mirror } of stores) {
    await eventually(() => sandbox.deliveries.records.length > 20, { what: 'deliveries' });
    sandbox.traffic.stop();
    await untilDelivered(mirror, sandbox);
    const { records } = sandbox.deliveries;
    expect(new Set(records.map((record) => record.status))).toEqual(new Set([204]));
    expect(notKept(mirror.databasePath, records)).toEqual([]);
    expect(await statusOf(`/${HOST}/healthz`)).toBe(200);
    expect(await statusOf(`/${HOST}/api/status`)).toBe(404);
  }
  expect(await statusOf('/webhooks')).toBe(404);
  // As a webhook for a name that leads here but is not the site's: a 2xx would count as delivered.
  expect((await fetch(`http://localhost:${sitePort}/webhooks`, { method: 'POST', body: '{}' })).status).toBe(
    421,
  );
});

const lacksShell = lacking('sqlite3');
test.skipIf(lacksShell !== '')(`one query reads the stock of both stores${lacksShell}`, async (t) => {
  const [shop, outlet] = await Promise.all([startBoth(t), startBoth(t, { seed: 2 })]);
  const sql = read('all-stores.sql')
    .replace('/var/lib/stock-mirror/shop/stock-mirror.db', shop.mirror.databasePath)
    .replace('/var/lib/stock-mirror/outlet/stock-mirror.db', outlet.mirror.databasePath);
  const ask = (input: string): { readonly available: number }[] => {
    const { status, stdout, stderr } = spawnSync('sqlite3', ['-json'], { input, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return JSON.parse(stdout.slice(stdout.lastIndexOf('\n[') + 1)) as { available: number }[];
  };
  const sum = (entries: readonly { readonly available: number }[]): number =>
    entries.reduce((total, { available }) => total + available, 0);
  const truth = [shop, outlet].flatMap(({ mirror }) =>
    rows<{ available: number }>(
      mirror.databasePath,
      'SELECT available_qty AS available FROM mirror_stock WHERE sku IS NOT NULL',
    ),
  );
  expect(truth.length).toBeGreaterThan(0);
  expect(sum(ask(sql))).toBe(sum(truth));
});
