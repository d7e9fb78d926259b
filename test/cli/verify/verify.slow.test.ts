import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import { plainVariants } from '../../process/harness.ts';
import {
  databaseOf,
  detailsRead,
  eventually,
  fillMirror,
  homeOf,
  run,
  start,
  startServer,
  startService,
  untilQuiet,
  withEnv,
} from '../harness.ts';

interface Verdict {
  readonly equal: boolean;
  readonly products: number;
  readonly levels: number;
  readonly totals: number;
  readonly drift: readonly Record<string, unknown>[];
  readonly undecided: readonly Record<string, unknown>[];
  readonly unread: readonly unknown[];
}

const verdictOf = (stdout: string): Verdict => JSON.parse(stdout) as Verdict;

describe.concurrent('verify', () => {
  test('finds each difference without a server, writes nothing and uses one token', async ({ expect }) => {
    const sandbox = await startService({ products: 30 });
    const home = await homeOf(sandbox);
    await fillMirror(home, sandbox);
    const hash = () =>
      createHash('sha256')
        .update(readFileSync(databaseOf(home)))
        .digest('hex');
    const before = hash();
    const equal = await run(home, 'verify');
    expect(equal.code).toBe(0);
    expect(equal.stderr).toMatch(/^(\d+\/30 products.*\n)*$/);
    expect(equal.stdout).toMatch(/^equal: 30 products, \d+ totals and \d+ stock levels compared\n$/);

    const [moved, gone] = plainVariants(sandbox, 2);
    sandbox.operations.add({ ...moved, by: 7 });
    sandbox.operations.deleteProduct(gone.productId);
    const { product: created } = sandbox.operations.createProduct();
    const { code, stdout } = await run(home, 'verify', '--json');
    expect(code).toBe(1);
    const verdict = verdictOf(stdout);
    expect(verdict).toMatchObject({ equal: false, products: 31, undecided: [], unread: [] });
    expect(verdict.drift).toHaveLength(4);
    const level = present(verdict.drift.find(({ what }) => what === 'level'));
    expect(level).toMatchObject({
      product_id: moved.productId,
      variant_id: moved.variantId,
      warehouse_id: moved.warehouseId,
      service: Number(level['mirror']) + 7,
      only_in: null,
      suspect: false,
    });
    expect(verdict.drift).toContainEqual(
      expect.objectContaining({ what: 'total', variant_id: moved.variantId }),
    );
    expect(verdict.drift).toContainEqual(
      expect.objectContaining({ what: 'product', product_id: gone.productId, only_in: 'mirror' }),
    );
    expect(verdict.drift).toContainEqual(
      expect.objectContaining({ what: 'product', product_id: created.id, only_in: 'service' }),
    );
    expect(hash()).toBe(before);
    expect(sandbox.requests['/oauth/token']).toBe(1);
  });

  test('--sample reads that many products and no list', async ({ expect }) => {
    const sandbox = await startService({ products: 30 });
    const home = await homeOf(sandbox);
    await fillMirror(home, sandbox);
    const details = detailsRead(sandbox);
    const lists = sandbox.requests['/v1/product/list'];
    const { code, stdout } = await run(home, 'verify', '--sample', '5', '--json');
    expect(code).toBe(0);
    expect(verdictOf(stdout)).toMatchObject({ equal: true, products: 5, drift: [] });
    expect(detailsRead(sandbox) - details).toBe(5);
    expect(sandbox.requests['/v1/product/list']).toBe(lists);
  });

  test('finds no difference while a server takes late webhooks and stale reads', async ({ expect }) => {
    const sandbox = await startService({ products: 30 });
    const home = await homeOf(sandbox);
    await startServer(home, sandbox);
    await untilQuiet(home);
    sandbox.network.delayMs = { min: 200, max: 1_200 };
    sandbox.reads.stale = { probability: 0.3, ageMs: 1_500 };
    sandbox.reads.fail.serverError = 0.05;
    sandbox.traffic.start(15);
    const { code, stdout, stderr } = await run(home, 'verify', '--json');
    sandbox.traffic.stop();
    const { drift, unread, equal } = verdictOf(stdout);
    expect({ code, drift, unread }, stderr).toEqual({ code: equal ? 0 : 1, drift: [], unread: [] });
  });

  test('exits 130 without a verdict on Ctrl-C', async ({ expect }) => {
    const sandbox = await startService({ products: 20 });
    const home = await homeOf(sandbox);
    await fillMirror(home, sandbox);
    const before = detailsRead(sandbox);
    sandbox.reads.latencyMs = { min: 1_000, max: 2_000 };
    const command = start(withEnv(home, { SERVICE_MAX_RPS: '2' }), 'verify');
    await eventually(() => detailsRead(sandbox) > before, { what: 'it reads' });
    command.signal('SIGINT');
    const { code, stdout, stderr } = await command.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toContain('stopped without a verdict');
  });
});

test('fails without a mirror', async () => {
  const home = await homeOf(await startService());
  const none = await run(home, 'verify');
  expect(none).toMatchObject({ code: 1, stdout: '' });
  expect(none.stderr).toContain('mirror.db does not exist');
});
