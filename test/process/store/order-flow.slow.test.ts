import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { blockWith, documentAt } from '../../docs/blocks.ts';
import { present } from '../../shared/present.ts';
import { runOrderProgram } from '../../store-api/documented-program.ts';
import {
  proveWayIn,
  environmentFor,
  eventually,
  rows,
  spawnMirror,
  startBoth,
  statusOf,
  temporaryFolder,
  type Environment,
  type Json,
  type Owner,
} from '../harness.ts';

const root = join(import.meta.dirname, '../../..');

interface Shop {
  readonly baseUrl: string;
  readonly databasePath: string;
  readonly credentials: Environment;
}

async function startShop(owner: Owner): Promise<Shop> {
  const sandbox = spawn(
    process.execPath,
    [join(root, 'src/cli.ts'), 'sandbox', '--port', '0', '--rate', '0', '--products', '12'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  owner.onTestFinished(() => void sandbox.kill('SIGKILL'));
  let printed = '';
  sandbox.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  await eventually(() => printed.includes('SERVICE_WEBHOOK_SECRET='), { what: 'the sandbox starts' });
  const credentials = Object.fromEntries(
    [...printed.matchAll(/^(SERVICE_\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  ) as Environment;
  const baseUrl = String(credentials['SERVICE_BASE_URL']);

  const folder = temporaryFolder(owner);
  const databasePath = join(folder, 'mirror.db');
  const rest = environmentFor({ baseUrl, clientId: '', clientSecret: '', webhookSecret: '' }, databasePath);
  const mirror = spawnMirror(owner, { ...rest, ...credentials }, folder);
  const listening = await eventually(() => mirror.log.find(({ msg }) => msg === 'listening'), {
    what: 'the mirror listens',
  });
  await proveWayIn(String(listening['webhooks']), String(credentials['SERVICE_WEBHOOK_SECRET']));
  await control(baseUrl, '/settings', { webhook_url: listening['webhooks'], booking_delay_ms: 300 });
  await eventually(
    () => {
      const { state, pending_reads } = statusOf(databasePath);
      return state === 'live' && pending_reads === 0;
    },
    { what: 'the mirror is live' },
  );
  return { baseUrl, databasePath, credentials };
}

async function control(baseUrl: string, path: string, body: unknown): Promise<void> {
  const answer = await postJson(`${baseUrl}/sandbox${path}`, body);
  expect(answer.status).toBe(200);
}

async function postJson(url: string, body: unknown, token?: string) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Json };
}

function sellableOf(databasePath: string, sku: string): number {
  const [total] = rows<{ qty: number }>(
    databasePath,
    'SELECT sum(available_qty) AS qty FROM mirror_stock WHERE sku = ?',
    sku,
  );
  return total?.qty ?? Number.NaN;
}

test('the documented commands place an order and show its shipment and stock', async (t) => {
  const { baseUrl, databasePath } = await startShop(t);
  const commands = blockWith(documentAt('docs/sandbox.md'), 'sh', 'base=')
    .text.replace('http://127.0.0.1:8790', baseUrl)
    .replaceAll('data/stock-mirror.db', databasePath);
  expect(commands).toContain(baseUrl);
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', `set -e -o pipefail\n${commands}`], {
    timeout: 120_000,
  });
  expect(stderr).toBe('');
  const lines = stdout.trimEnd().split('\n');
  const shipment = lines.findIndex((line) => /^"shipments":.*"tracking_number":"TH\d+"/.test(line));
  const stock = (from: readonly string[]) => from.map((line) => Number(line.split('|')[2]));
  const sum = (quantities: readonly number[]) => quantities.reduce((total, qty) => total + qty, 0);
  const [before, after] = [stock(lines.slice(0, shipment)), stock(lines.slice(shipment + 1, -1))];
  expect(before.length).toBeGreaterThan(0);
  expect(sum(before) - sum(after)).toBe(2);
  const [, old, now, reason] = present(lines.at(-1)).split('|');
  expect([Number(old) - Number(now), reason]).toEqual([2, 'order_reserved']);
});

test('the documented program places an order that the mirror shows', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 3 });
  sandbox.courier.bookingDelayMs = 300;
  const [warehouseId = ''] = sandbox.truth.warehouseIds;
  sandbox.operations.createProduct({
    name: 'T-shirt',
    variants: [{ sku: 'TS-RED-M', stock: [{ warehouseId, qty: 9 }] }],
  });
  await eventually(() => sellableOf(mirror.databasePath, 'TS-RED-M') === 9, { what: 'the mirror knows it' });
  const stdout = await runOrderProgram(temporaryFolder(t), {
    SERVICE_BASE_URL: sandbox.baseUrl,
    SERVICE_CLIENT_ID: sandbox.clientId,
    SERVICE_CLIENT_SECRET: sandbox.clientSecret,
  });
  expect(stdout).toMatch(/shipping_type: 'flash',\s+tracking_number: 'TH\d+'/);
  expect(sellableOf(mirror.databasePath, 'TS-RED-M')).toBe(7);
  // Once: the program repeats an order only without an answer.
  expect(sandbox.requests['/v1/order/create']).toBe(1);
});
