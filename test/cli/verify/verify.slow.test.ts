/** `verify` over a real mirror and the simulated service: it finds what is wrong, and nothing else. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openWriter } from '../../../src/mirror/file/open-writer.ts';
import { present } from '../../shared/present.ts';
import { plainVariants } from '../../process/harness.ts';
import {
  databaseOf,
  detailsRead,
  eventually,
  homeOf,
  run,
  start,
  startServer,
  startService,
  untilPrinted,
  untilQuiet,
  withEnv,
} from '../harness.ts';

/** Five commands one after the other, beside the others' commands. */
const MANY_COMMANDS_MS = 150_000;

interface Verdict {
  readonly equal: boolean;
  readonly products: number;
  readonly levels: number;
  readonly totals: number;
  readonly took_ms: number;
  readonly drift: readonly Record<string, unknown>[];
  readonly undecided: readonly Record<string, unknown>[];
  readonly unread: readonly unknown[];
}

const verdictOf = (stdout: string): Verdict => JSON.parse(stdout) as Verdict;

describe.concurrent('verify', () => {
  test('without a server: equal, then each difference by its figures; nothing is written, one token serves all', async ({
    expect,
  }) => {
    const sandbox = await startService({ products: 30 });
    const home = await homeOf(sandbox);
    expect((await run(home, 'resync')).code).toBe(0);
    const hash = () =>
      createHash('sha256')
        .update(readFileSync(databaseOf(home)))
        .digest('hex');
    const before = hash();
    const equal = await run(home, 'verify');
    expect(equal).toMatchObject({ code: 0, stderr: '' });
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
    expect(Date.now() - Number(level['as_of'])).toBeLessThan(120_000);
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

  test(
    'people are told the figures, how far they may be trusted, and what repairs them',
    { timeout: MANY_COMMANDS_MS },
    async ({ expect }) => {
      const sandbox = await startService({ products: 20 });
      const home = await homeOf(sandbox);
      expect((await run(home, 'resync')).code).toBe(0);
      const [moved] = plainVariants(sandbox, 1);
      sandbox.operations.add({ ...moved, by: 7 });
      const one = await run(home, 'verify', '--product', moved.productId);
      expect(one.code).toBe(1);
      expect(one.stdout).toMatch(
        new RegExp(
          `^differs {2}level ${moved.variantId}/${moved.warehouseId} .*of product ${moved.productId}: the mirror has ` +
            String.raw`-?\d+, the store -?\d+; not suspect, as of \d+ s ago, verified \d+ s ago$`,
          'm',
        ),
      );
      expect(one.stdout).toContain(`to read them again: stock-mirror resync --product ${moved.productId}\n`);
      expect((await run(home, 'resync', '--product', moved.productId)).code).toBe(0);
      expect((await run(home, 'verify', '--product', moved.productId)).code).toBe(0);
      const unknown = await run(home, 'verify', '--product', moved.productId, '999');
      expect(unknown.code).toBe(1);
      expect(unknown.stdout).toContain('unread   product 999: neither the store nor the mirror has it\n');
    },
  );

  test('a sample reads so many products and no list', async ({ expect }) => {
    const sandbox = await startService({ products: 30 });
    const home = await homeOf(sandbox);
    expect((await run(home, 'resync')).code).toBe(0);
    const details = detailsRead(sandbox);
    const lists = sandbox.requests['/v1/product/list'];
    const { code, stdout } = await run(home, 'verify', '--sample', '5', '--json');
    expect(code).toBe(0);
    expect(verdictOf(stdout)).toMatchObject({ equal: true, products: 5, drift: [] });
    expect(detailsRead(sandbox) - details).toBe(5);
    expect(sandbox.requests['/v1/product/list']).toBe(lists);
  });

  test('beside a server that takes webhooks, late ones and after stale reads: no difference', async ({
    expect,
  }) => {
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
    const verdict = verdictOf(stdout);
    const { drift, unread, equal } = verdict;
    expect({ code, drift, unread }, stderr).toEqual({ code: equal ? 0 : 1, drift: [], unread: [] });
    // What moved was looked at again.
    expect(verdict.took_ms).toBeGreaterThan(3_000);
  });

  test('beside a server, a lost last change is found', async ({ expect }) => {
    const sandbox = await startService({ products: 20 });
    const home = await homeOf(sandbox);
    await startServer(home, sandbox);
    await untilQuiet(home);
    const [level] = plainVariants(sandbox, 1);
    sandbox.network.loseNext(1);
    sandbox.operations.add({ ...level, by: 3 });
    const { code, stdout } = await run(home, 'verify', '--json');
    expect(code).toBe(1);
    expect(verdictOf(stdout).drift.map(({ what, variant_id: variantId }) => ({ what, variantId }))).toEqual([
      { what: 'total', variantId: level.variantId },
      { what: 'level', variantId: level.variantId },
    ]);
  });

  test('the rate of the configuration is kept', async ({ expect }) => {
    const sandbox = await startService({ products: 20 });
    const home = await homeOf(sandbox);
    expect((await run(home, 'resync')).code).toBe(0);
    const slow = withEnv(home, { SERVICE_MAX_RPS: '5' });
    const { code, stdout } = await run(slow, 'verify', '--json');
    expect(code).toBe(0);
    // 20 details and a page of the list, 5 a second.
    expect(verdictOf(stdout).took_ms).toBeGreaterThan(3_800);
  });

  test('a product that the service refuses to show is no proof', async ({ expect }) => {
    const sandbox = await startService({ products: 5 });
    const home = await homeOf(sandbox);
    expect((await run(home, 'resync')).code).toBe(0);
    const refused = present(sandbox.truth.products[0]).id;
    sandbox.reads.intercept = (_, body) =>
      Promise.resolve(
        body['product_id'] === refused
          ? { status: 403, body: { error: 'access_denied', error_description: 'not this one' } }
          : undefined,
      );
    const { code, stdout } = await run(home, 'verify');
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^unread {3}product ${refused}: .*access_denied: not this one`, 'm'));
    expect(stdout).toMatch(/^0 differ, 0 undecided, 1 product could not be read: 5 products/m);
  });

  test('a wrong secret ends it after one token request, a wrong store after one answer', async ({
    expect,
  }) => {
    const sandbox = await startService({ products: 5 });
    const home = await homeOf(sandbox);
    expect((await run(home, 'resync')).code).toBe(0);
    const tokens = sandbox.requests['/oauth/token'] ?? 0;
    const wrong = await run(withEnv(home, { SERVICE_CLIENT_SECRET: 'another' }), 'verify');
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(wrong.stderr).toMatch(/error: .*invalid_client/);
    expect(sandbox.requests['/oauth/token']).toBe(tokens + 1);

    const other = await startService({ products: 5, seed: 9 });
    const elsewhere = await run(withEnv(home, { SERVICE_BASE_URL: other.baseUrl }), 'verify');
    expect(elsewhere).toMatchObject({ code: 1, stdout: '' });
    expect(elsewhere.stderr).toContain('the credentials are those of store');
  });

  test('Ctrl-C: 130, and no verdict', async ({ expect }) => {
    const sandbox = await startService({ products: 20 });
    const home = await homeOf(sandbox);
    expect((await run(home, 'resync')).code).toBe(0);
    const before = detailsRead(sandbox);
    sandbox.reads.latencyMs = { min: 1_000, max: 2_000 };
    const command = start(withEnv(home, { SERVICE_MAX_RPS: '2' }), 'verify');
    await eventually(() => detailsRead(sandbox) > before, { what: 'it reads' });
    command.signal('SIGINT');
    const { code, stdout, stderr } = await command.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toContain('stopped; nothing was proven');
  });

  test('while the service is away it says that it waits', async ({ expect }) => {
    const sandbox = await startService({ products: 5 });
    const home = await homeOf(sandbox);
    expect((await run(home, 'resync')).code).toBe(0);
    sandbox.reads.fail.serverError = 1;
    const command = start(home, 'verify');
    await untilPrinted(command, /^waiting: .*server_error/m);
    sandbox.reads.fail.serverError = 0;
    expect((await command.ended).code).toBe(0);
  });
});

test('without a mirror there is nothing to verify; --sample and --product are two things', async () => {
  const home = await homeOf(await startService());
  const none = await run(home, 'verify');
  expect(none).toMatchObject({ code: 1, stdout: '' });
  expect(none.stderr).toContain('mirror.db does not exist');
  const both = await run(home, 'verify', '--sample', '5', '--product', '1');
  expect(both).toMatchObject({ code: 2, stdout: '' });
});

test('a sample of an empty mirror is drawn from the service: nothing compared proves nothing', async () => {
  const sandbox = await startService({ products: 5 });
  const home = await homeOf(sandbox);
  openWriter(databaseOf(home)).close();
  const { code, stdout } = await run(home, 'verify', '--sample', '3', '--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ equal: false, products: 3 });
});

test('below a file there is nothing to look at, which is not said of a mirror that is not there', async () => {
  const home = await homeOf(await startService());
  const below = withEnv(home, { DATABASE_PATH: '.env.of-somebody/mirror.db' });
  writeFileSync(join(home.folder, '.env.of-somebody'), '');
  for (const verb of [['verify'], ['status'], ['export', '--format', 'csv'], ['backup', 'x.db']]) {
    const { code, stderr } = await run(below, ...verb);
    expect({ code, stderr }, verb.join(' ')).toEqual({
      code: 1,
      stderr: expect.stringContaining('mirror.db cannot be reached (ENOTDIR): set DATABASE_PATH'),
    });
  }
  const { code, stdout } = await run(below, 'doctor');
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringMatching(/^fail {2}database .*cannot be reached/m),
  });
});
