import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import { holdNext } from '../../sandbox/harness.ts';
import {
  databaseOf,
  detailsRead,
  differencesOf,
  eventually,
  homeOf,
  run,
  start,
  startServer,
  startService,
  untilPrinted,
  untilQuiet,
} from '../harness.ts';

/** A resync that waits for the answer about one product. */
async function startHeld() {
  const sandbox = await startService({ products: 40 });
  const home = await homeOf(sandbox);
  const hold = holdNext(sandbox, present(sandbox.truth.products[0]).id);
  const command = start(home, 'resync');
  await hold.sampled;
  return { sandbox, home, command, hold };
}

test('reads everything and ends equal to the store', async () => {
  const sandbox = await startService({ products: 105 });
  const home = await homeOf(sandbox);
  const { code, stdout, stderr } = await run(home, 'resync');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^run 1 done: 105 products read, 0 differences corrected$/m);
  expect(stdout).not.toContain('0/0');
  expect(stdout).not.toContain('\u001B');
  expect(differencesOf(home, sandbox)).toEqual([]);
  expect(sandbox.requests['/oauth/token']).toBe(1);

  const productId = present(sandbox.truth.products[0]).id;
  const single = await run(home, 'resync', '--product', productId, '--json');
  expect(single.code).toBe(0);
  expect(JSON.parse(single.stdout)).toMatchObject({ kind: 'products', done: 1, total: 1, state: 'done' });
});

test('stops on Ctrl-C and says that the next run continues', async () => {
  const { command, hold } = await startHeld();
  await untilPrinted(command, /\/40 products/);
  command.signal('SIGINT');
  const { code, signal, stdout } = await command.ended;
  expect({ code, signal }).toEqual({ code: 130, signal: null });
  expect(stdout).toMatch(
    /\nstopped; the next resync, or the next start of the mirror, continues from here\n$/,
  );
  hold.release();
});

test('a service that starts during a resync receives webhooks at once', async () => {
  const { sandbox, home, command, hold } = await startHeld();
  // It requires that a webhook is answered 204.
  await startServer(home, sandbox);
  hold.release();
  expect(await command.ended).toMatchObject({ code: 0 });
  await untilQuiet(home);
  expect(differencesOf(home, sandbox)).toEqual([]);
});

test('continues the same run after kill -9', async () => {
  const sandbox = await startService({ products: 60 });
  const home = await homeOf(sandbox, { SERVICE_MAX_CONCURRENCY: '2' });
  const server = await startServer(home, sandbox);
  await untilQuiet(home);
  server.signal('SIGTERM');
  await server.ended;

  // The run cannot end before the kill.
  const hold = holdNext(sandbox, present(sandbox.truth.products.at(-1)).id);
  const atStart = detailsRead(sandbox);
  const first = start(home, 'resync');
  await eventually(() => detailsRead(sandbox) - atStart >= 40, { what: 'most is read' });
  first.signal('SIGKILL');
  await first.ended;
  hold.release();

  const { code, stdout, stderr } = await run(home, 'resync', '--json');
  expect(code).toBe(0);
  const [, runId] =
    /^run (\d+) is already under way: .* run resync again when it has ended$/m.exec(stderr) ?? [];
  expect(JSON.parse(stdout)).toMatchObject({ run_id: Number(runId), state: 'done', done: 60, total: 60 });
  expect(detailsRead(sandbox) - atStart).toBeLessThan(2 * 60);
  expect(differencesOf(home, sandbox)).toEqual([]);
});

test.each(['answers', 'is away at first'])(
  'reads everything although a killed run has read it already, if the store %s',
  async (how) => {
    const products = 20;
    const sandbox = await startService({ products });
    const home = await homeOf(sandbox);
    const server = await startServer(home, sandbox);
    await untilQuiet(home);
    server.signal('SIGTERM');
    await server.ended;
    expect((await run(home, 'resync')).code).toBe(0);
    // As kill -9 leaves it after the last read.
    const mirror = new Database(databaseOf(home));
    const { changes } = mirror
      .prepare(`UPDATE runs SET state = 'running', finished_at_ms = NULL WHERE kind = 'operator'`)
      .run();
    mirror.close();
    expect(changes).toBe(1);

    const atStart = detailsRead(sandbox);
    const isAway = how !== 'answers';
    if (isAway) sandbox.reads.intercept = () => Promise.resolve({ status: 503, body: {} });
    const command = start(home, 'resync', '--json');
    if (isAway) {
      await untilPrinted(command, /waiting: The store/);
      sandbox.reads.intercept = null;
    }
    const { code, stdout } = await command.ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ state: 'done', done: products, total: products });
    expect(detailsRead(sandbox) - atStart).toBeGreaterThanOrEqual(products);
  },
);
