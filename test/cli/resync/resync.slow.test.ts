import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { counted } from '../../../src/platform/amounts.ts';
import { REPLICA_LAG_MS } from '../../../src/core/limits.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { present } from '../../shared/present.ts';
import { holdNext } from '../../sandbox/harness.ts';
import { proveWayIn } from '../../process/harness.ts';
import { eventually } from '../../process/wait.ts';
import {
  detailsRead,
  differencesOf,
  homeOf,
  run,
  start,
  startServer,
  startService,
  untilPrinted,
  untilQuiet,
  withEnv,
  type Home,
} from '../harness.ts';

async function changeUnseen(sandbox: Sandbox, count: number): Promise<string[]> {
  const own = sandbox.truth.variants
    .filter(({ kind, bundledBy }) => kind === 'own' && bundledBy.size === 0)
    .slice(0, count);
  sandbox.network.loss = 1;
  for (const variant of own) sandbox.operations.add({ variantId: variant.id, by: 7 });
  await sandbox.network.idle();
  sandbox.network.loss = 0;
  return [...new Set(own.map((variant) => variant.product.id))];
}

const CONTINUES = /^run \d+ is already under way: .* run resync again when it has ended$/m;

describe('with a server', () => {
  let sandbox: Sandbox;
  let home: Home;
  let webhooks: NodeJS.Timeout | undefined;

  beforeAll(async () => {
    sandbox = await startService({ products: 20 });
    home = await homeOf(sandbox, {
      OPS_TOKEN: 'the-right-token-for-this-server',
      OPS_READ_TOKEN: 'the-token-of-programs-that-read',
    });
    await startServer(home, sandbox);
    // After a silence, the mirror itself would look for lost webhooks.
    webhooks = setInterval(() => {
      proveWayIn(sandbox.webhookUrl ?? '', sandbox.webhookSecret).catch(() => undefined);
    }, 2_000);
    await untilQuiet(home);
  });
  afterAll(() => clearInterval(webhooks));

  test('the server does the run, and the command shows its progress and result', async () => {
    await changeUnseen(sandbox, 3);
    sandbox.reads.latencyMs = { min: 50, max: 100 };
    onTestFinished(() => {
      sandbox.reads.latencyMs = { min: 0, max: 0 };
    });
    const { code, stdout, stderr } = await run(home, 'resync');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^(\d+\/20 products.*\n)*run \d+ done: 20 products read, 3 differences corrected\n$/,
    );
    expect(differencesOf(home, sandbox)).toEqual([]);
  });

  test('--product reads only the named products', async () => {
    // Two reads within the replica lag would cause a third.
    const calledAt = performance.now();
    await eventually(() => performance.now() - calledAt > REPLICA_LAG_MS, {
      what: 'the last reads are past',
    });
    const productIds = await changeUnseen(sandbox, 2);
    const before = detailsRead(sandbox);
    const lists = sandbox.requests['/v1/product/list'];
    const { code, stdout } = await run(home, 'resync', '--product', ...productIds);
    expect(code).toBe(0);
    expect(stdout).toContain(`done: ${counted(productIds.length, 'product')} read, 2 differences corrected`);
    expect(detailsRead(sandbox) - before).toBe(productIds.length);
    expect(sandbox.requests['/v1/product/list']).toBe(lists);
    expect(differencesOf(home, sandbox)).toEqual([]);
  });

  test('--detach returns during the run; a second resync meanwhile joins the same run', async () => {
    const hold = holdNext(sandbox, present(sandbox.truth.products[0]).id);
    const detached = await run(home, 'resync', '--detach');
    expect(detached.code).toBe(0);
    const runId = Number(/^run (\d+) has begun in the mirror\n$/.exec(detached.stdout)?.[1]);
    await hold.sampled;

    const again = await run(home, 'resync', '--detach', '--json');
    expect(JSON.parse(again.stdout)).toEqual({ run_id: runId, joined: true });
    expect((await run(home, 'resync', '--detach')).stdout).toMatch(CONTINUES);
    const followers = [start(home, 'resync', '--json'), start(home, 'resync', '--json')];
    for (const follower of followers) await untilPrinted(follower, /19\/20 products/);
    hold.release();
    for (const follower of followers) {
      const { code, stdout, stderr } = await follower.ended;
      expect(code).toBe(0);
      expect(stderr).toMatch(CONTINUES);
      expect(JSON.parse(stdout)).toMatchObject({ run_id: runId, state: 'done' });
    }
  });

  test('Ctrl-C ends the command, not the run', async () => {
    const hold = holdNext(sandbox);
    const follower = start(home, 'resync');
    await untilPrinted(follower, /\d\/20 products/);
    follower.signal('SIGINT');
    expect(await follower.ended).toMatchObject({ code: 130, signal: null });
    expect(follower.stdout).toContain('no longer shown; the run continues in the mirror');
    hold.release();
    expect((await run(home, 'resync')).code).toBe(0);
  });

  test('refuses another OPS_TOKEN, and changes with OPS_READ_TOKEN', async () => {
    const before = detailsRead(sandbox);
    const base = `http://127.0.0.1:${home.env['OPS_PORT']}`;
    const other = withEnv(home, { OPS_TOKEN: 'another-token-than-the-server-has' });
    expect(await run(other, 'resync')).toMatchObject({
      code: 1,
      stderr: `error: the mirror at ${base} requires its OPS_TOKEN, or OPS_READ_TOKEN for commands that only read: give this command the same value\n`,
    });
    const { OPS_TOKEN: _, ...reader } = home.env;
    expect(await run({ ...home, env: reader }, 'resync')).toMatchObject({
      code: 1,
      stderr: `error: the mirror at ${base} refused the request: OPS_READ_TOKEN only reads: send OPS_TOKEN\n`,
    });
    expect(detailsRead(sandbox)).toBe(before);
    const { code, stdout } = await run({ ...home, env: reader }, 'status', '--json');
    expect({ code, status: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 0,
      status: { serving: true },
    });
  });
});
