import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { verifySignature } from '../../src/store-api/signature.ts';
import { openReader } from '../../src/sqlite/open.ts';
import { freePort } from '../shared/free-port.ts';
import { present } from '../shared/present.ts';
import { eventually } from '../process/wait.ts';
import { databaseOf, homeOf, run, startServer, startService, untilQuiet, type Home } from './harness.ts';

interface Received {
  readonly body: Buffer;
  readonly headers: IncomingHttpHeaders;
}

let home: Home;
beforeAll(async () => {
  home = await homeOf(await startService());
});

async function receiver(): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      received.push({ body, headers: request.headers });
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received };
}

/** Of the configured secret. */
function isAuthentic({ body, headers }: Received): boolean {
  const secret = present(home.env['SERVICE_WEBHOOK_SECRET']);
  return verifySignature([secret], body, String(headers['x-service-signature']));
}

test('sends an authentic delivery without changes by default', async () => {
  const { url, received } = await receiver();
  const { code, stdout } = await run(home, 'send', '--url', url, '--json');
  const answer = JSON.parse(stdout) as { readonly took_ms: number };
  const acknowledged = answer.took_ms <= 1_000;
  expect(answer).toMatchObject({ url, status: 204, acknowledged });
  expect(code).toBe(acknowledged ? 0 : 1);
  const [sent] = received as [Received];
  expect(sent.headers).toMatchObject({
    'user-agent': 'service-webhook/1.0',
    'content-type': 'application/json',
  });
  expect(isAuthentic(sent)).toBe(true);
  expect(JSON.parse(sent.body.toString())).toMatchObject({
    event_type: 'stock_available_updated',
    data: { items: [] },
  });
});

test('sends a file byte for byte', async () => {
  const { url, received } = await receiver();
  const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0xff, 0x7d, 0x0a]);
  writeFileSync(join(home.folder, 'body'), bytes);
  const { stdout, stderr } = await run(home, 'send', '--url', url, '--file', 'body');
  expect(stdout).toMatch(/^204 in [\d.]+ ms from http:\S+\n$/);
  expect(stderr).toContain('if the file contains changes');
  const [sent] = received as [Received];
  expect(sent.body.equals(bytes)).toBe(true);
  expect(isAuthentic(sent)).toBe(true);
});

test.each<[args: string[], said: string]>([
  [['--variant', '1', '--old', '2'], 'a change also needs --warehouse, --new'],
  [['--variant', 'x'], 'An id consists of digits.'],
  [['--variant', '1', '--warehouse', '1', '--old', '1.5', '--new', '1'], 'It must be a whole number from'],
  [['--file', 'body', '--new', '1'], '--file cannot be combined with --variant, --warehouse, --old, --new'],
  [['--url', 'mirror'], 'It must be an address'],
  [[], 'PORT is 0'],
])('exits 2 for wrong usage: %j', async (args, said) => {
  const { code, stdout, stderr } = await run(home, 'send', ...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(said);
});

test('changes a live mirror only with values, and until the product is read', async () => {
  const sandbox = await startService({ products: 5 });
  const served = await homeOf(sandbox, { PORT: String(await freePort()) });
  await startServer(served, sandbox);
  await untilQuiet(served);
  const db = openReader(databaseOf(served));
  onTestFinished(() => void db.close());
  const stock = db.prepare('SELECT * FROM mirror_stock ORDER BY variant_id, warehouse_id');
  const status = db.prepare<[], Record<string, unknown>>(
    'SELECT state, suspect_count, open_gaps, pending_reads, last_seq FROM mirror_status',
  );
  const deadLetters = db.prepare('SELECT count(*) FROM dead_letters').pluck();
  const before = [stock.all(), status.get(), deadLetters.get()];

  expect((await run(served, 'send')).stdout).toMatch(/^204 in /);
  expect([stock.all(), status.get(), deadLetters.get()]).toEqual(before);

  const stockLevel = present(sandbox.truth.snapshot().levels.find(({ kind }) => kind === 'own'));
  const values = ['--variant', stockLevel.variantId, '--warehouse', stockLevel.warehouseId];
  const changed = await run(
    served,
    ...['send', ...values, '--old', String(stockLevel.availableQty), '--new', '-7'],
  );
  expect(changed.stderr).toContain(`the mirror shows -7 for variant ${stockLevel.variantId}`);
  const level = db
    .prepare<[string, string], number>(
      'SELECT available_qty FROM mirror_stock WHERE variant_id = ? AND warehouse_id = ?',
    )
    .pluck();
  await eventually(() => level.get(stockLevel.variantId, stockLevel.warehouseId) === -7, {
    what: 'it is applied',
  });
  expect((await run(served, 'resync', '--product', stockLevel.productId)).code).toBe(0);
  expect(level.get(stockLevel.variantId, stockLevel.warehouseId)).toBe(stockLevel.availableQty);
});
