import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { verifySignature } from '../../src/store-api/signature.ts';
import { openReader } from '../../src/sqlite/open.ts';
import { startReceiver, type Received } from '../sandbox/receiver.ts';
import { freePort } from '../shared/free-port.ts';
import { present } from '../shared/present.ts';
import { databaseOf, homeOf, run, startServer, startService, untilQuiet, type Home } from './harness.ts';

let home: Home;
beforeAll(async () => {
  home = await homeOf(await startService());
});

/** Of the configured secret. */
function isAuthentic({ raw, headers }: Received): boolean {
  const secret = present(home.env['SERVICE_WEBHOOK_SECRET']);
  return verifySignature([secret], raw, String(headers['x-service-signature']));
}

test('sends an authentic delivery without changes', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const { url, received } = receiver;
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
  expect(sent.body).toMatchObject({
    event_type: 'stock_available_updated',
    data: { items: [] },
  });
});

test.each<[args: string[], said: string]>([
  [['--url', 'mirror'], 'It must be an address'],
  [[], 'PORT is 0'],
])('exits 2 for wrong usage: %j', async (args, said) => {
  const { code, stdout, stderr } = await run(home, 'send', ...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(said);
});

test('changes nothing in a live mirror', async () => {
  const sandbox = await startService({ products: 5 });
  const served = await homeOf(sandbox, { PORT: String(await freePort()) });
  await startServer(served, sandbox);
  await untilQuiet(served);
  const db = openReader(databaseOf(served));
  onTestFinished(() => void db.close());
  const stock = db.prepare('SELECT * FROM mirror_stock ORDER BY variant_id, warehouse_id');
  const status = db.prepare<[], Record<string, unknown>>(
    'SELECT state, open_gaps, pending_reads, last_seq FROM mirror_status',
  );
  const deadLetters = db.prepare('SELECT count(*) FROM dead_letters').pluck();
  const before = [stock.all(), status.get(), deadLetters.get()];

  expect((await run(served, 'send')).stdout).toMatch(/^204 in /);
  expect([stock.all(), status.get(), deadLetters.get()]).toEqual(before);
});
