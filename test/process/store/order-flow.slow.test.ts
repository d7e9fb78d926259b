import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { blockWith, documentAt } from '../../docs/blocks.ts';
import { present } from '../../shared/present.ts';
import { programIn, runProgram } from '../../store-api/documented-program.ts';
import { eventually, rows, startBoth, temporaryFolder } from '../harness.ts';

function sellableOf(databasePath: string, sku: string): number {
  const [total] = rows<{ qty: number }>(
    databasePath,
    'SELECT sum(available_qty) AS qty FROM mirror_stock WHERE sku = ?',
    sku,
  );
  return total?.qty ?? Number.NaN;
}

test('the documented commands place an order and show its shipment and stock', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 12 });
  const setting = await fetch(`${sandbox.baseUrl}/sandbox/settings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ booking_delay_ms: 300 }),
  });
  expect(setting.status).toBe(200);
  expect(sandbox.courier.bookingDelayMs).toBe(300);
  const commands = blockWith(documentAt('docs/sandbox.md'), 'sh', 'base=')
    .text.replace('http://127.0.0.1:8790', sandbox.baseUrl)
    .replaceAll('data/stock-mirror.db', mirror.databasePath);
  expect(commands).toContain(sandbox.baseUrl);
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
  const folder = temporaryFolder(t);
  const stdout = await runProgram(programIn(folder, 'createOrder'), folder, {
    SERVICE_BASE_URL: sandbox.baseUrl,
    SERVICE_CLIENT_ID: sandbox.clientId,
    SERVICE_CLIENT_SECRET: sandbox.clientSecret,
  });
  expect(stdout).toMatch(/shipping_type: 'flash',\s+tracking_number: 'TH\d+'/);
  expect(sellableOf(mirror.databasePath, 'TS-RED-M')).toBe(7);
  // Once: the program repeats an order only without an answer.
  expect(sandbox.requests['/v1/order/create']).toBe(1);
});
