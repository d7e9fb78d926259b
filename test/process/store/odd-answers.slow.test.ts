/** Answers that are not the service's own, or that say more, less or other than documented. */
import { expect, test } from 'vitest';
import { startFront, type Page } from '../front.ts';
import {
  compareWithTruth,
  eventually,
  type Json,
  plainVariants,
  resync,
  rows,
  type RunningMirror,
  startBoth,
  startMirror,
  startService,
  untilDelivered,
  untilEqual,
  untilLive,
  untilLogged,
  untilQuiet,
  untilRunEnds,
} from '../harness.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';

/** Changes the details of one product, or of all. */
function rewrite(sandbox: Sandbox, productId: string | null, change: (product: Json) => Json): void {
  sandbox.reads.intercept = (endpoint, asked, respond) => {
    if (endpoint !== '/v1/product/detail') return Promise.resolve(undefined);
    if (productId !== null && asked['product_id'] !== productId) return Promise.resolve(undefined);
    const { status, body } = respond();
    const product = body['product'] as Json | undefined;
    return Promise.resolve({
      status,
      body: product === undefined ? body : { ...body, product: change(product) },
    });
  };
}

const contents = (mirror: RunningMirror): unknown[] =>
  ['mirror_products', 'mirror_variants', 'mirror_stock', 'mirror_changes'].map((view) =>
    rows(mirror.databasePath, `SELECT * FROM ${view} ORDER BY 1, 2`),
  );

test.concurrent(
  'a product whose answer lacks what it must have is kept as it was, and is right again by itself',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const [level, other] = plainVariants(sandbox, 2);
    const before = contents(mirror);
    rewrite(sandbox, level.productId, (product) => ({
      ...product,
      variants: (product['variants'] as Json[]).map(({ available_qty: _, ...variant }) => variant),
    }));
    const { body } = await mirror.post('/api/resync', {});
    const broken = await eventually(
      async () => {
        const status = (await mirror.get('/api/status')).body;
        return status['failing_reads'] === 1 && status;
      },
      { what: 'the failure shows in the status' },
    );
    expect(String(broken['last_read_error'])).toContain('available_qty');
    const isFailure = (line: Json): boolean =>
      line['productId'] === level.productId && line['msg'] === 'a product could not be read from the store';
    expect((await untilLogged(mirror, isFailure, 'the failure'))[0]).toMatchObject({ level: 'warn' });
    const unverified = (view: unknown): string =>
      JSON.stringify(view, (key, value: unknown) =>
        key === 'verified_at' || key.endsWith('as_of') ? null : value,
      );
    expect(unverified(contents(mirror))).toBe(unverified(before));
    expect(rows(mirror.databasePath, 'SELECT 1 FROM products WHERE missing_at_ms IS NOT NULL')).toEqual([]);
    // Nobody else waits for it.
    sandbox.operations.add({ ...other, by: 2 });
    await untilDelivered(mirror, sandbox);
    expect(compareWithTruth(mirror.databasePath, sandbox)).toEqual([]);

    sandbox.reads.intercept = null;
    expect(await untilRunEnds(mirror, Number(body['run_id']))).toMatchObject({
      state: 'done',
      failed: 0,
    });
    expect((await mirror.get('/api/status')).body).toMatchObject({ failing_reads: 0, last_read_error: null });
  },
);

const PORTAL = '<!doctype html><form action="/login">Sign in to use this network</form>';
const PAGES: readonly [string, Page][] = [
  ['a captive portal’s page with 200', { status: 200, body: PORTAL }],
  ['a proxy’s 401', { status: 401, body: '<h1>Authentication required</h1>' }],
];

for (const [name, page] of PAGES) {
  test.concurrent(`${name} for everything is no data, no refusal and no wrong secret`, async (t) => {
    const sandbox = await startService(t);
    const front = await startFront(t, sandbox);
    const mirror = await startMirror(t, sandbox, { env: { SERVICE_BASE_URL: front.baseUrl } });
    await untilLive(mirror);
    await untilQuiet(mirror, sandbox);
    const before = contents(mirror);
    sandbox.oauth.expireAllTokens();
    front.answer = () => page;
    await mirror.post('/api/resync', {});
    await eventually(
      async () => ((await mirror.get('/api/status')).body['blocked'] as Json | null)?.['kind'] === 'breaker',
      { what: 'the breaker opens' },
    );
    const { body: status } = await mirror.get('/api/status');
    expect(status).toMatchObject({ parked_reads: 0, held_removals: 0 });
    expect(contents(mirror)).toEqual(before);
    expect(rows(mirror.databasePath, 'SELECT 1 FROM products WHERE missing_at_ms IS NOT NULL')).toEqual([]);

    front.answer = null;
    expect(await resync(mirror)).toMatchObject({ state: 'done', failed: 0 });
    await untilEqual(mirror, sandbox);
  });
}
