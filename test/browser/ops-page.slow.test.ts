import { request } from 'node:http';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { signBody } from '../../src/store-api/signature.ts';
import {
  plainVariants,
  startBoth,
  statusOf,
  untilPastReads,
  type Owner,
  type RunningMirror,
} from '../process/harness.ts';
import { eventually } from '../process/wait.ts';
import { newDatabases } from '../reconcile/mirror.ts';
import { detail, readInput } from '../mirror/mirror-file.ts';
import { holdRemovals, operatorOf, startOps } from '../ops/harness.ts';
import { present } from '../shared/present.ts';
import { hasChromium, keepScreenshot, openPage, startChromium } from './chromium.ts';

const TOKEN = 'operator-token-0123456789';

let browser: Browser;
beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});
afterAll(() => browser?.close());

const startMirror = (test: Owner, products: number) =>
  startBoth(test, { products }, { env: { OPS_TOKEN: TOKEN } });

/** Lost by a reload. */
const markLoaded = (page: Page) => page.evaluate('window.loadedOnce = true');
const isStillLoaded = (page: Page) => page.evaluate('window.loadedOnce === true');
const textOf = (page: Page, selector: string) => page.locator(selector).innerText();

async function signIn(
  mirror: Pick<RunningMirror, 'opsUrl'>,
  path = '/',
  options: BrowserContextOptions = {},
) {
  const opened = await openPage(browser, mirror.opsUrl + path, options);
  await opened.page.getByLabel('Token').fill(TOKEN);
  await opened.page.getByRole('button', { name: 'Sign in' }).click();
  await opened.page.getByRole('searchbox').waitFor();
  await opened.page.waitForLoadState();
  return opened;
}

function namedLevel(sandbox: Sandbox) {
  for (const level of plainVariants(sandbox, 5)) {
    const variant = sandbox.truth.variant(level.variantId);
    if (typeof variant?.sku === 'string') return { ...level, sku: variant.sku, variant };
  }
  throw new Error('none of these variants has a SKU');
}

function deliver(mirror: RunningMirror, body: string, signature: string | null): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = signature === null ? {} : { 'x-service-signature': signature };
    request(mirror.webhookUrl, { method: 'POST', headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
    })
      .on('error', reject)
      .end(body);
  });
}

describe.skipIf(!hasChromium)('in Chromium', () => {
  test('signs in, finds a SKU and shows its changes', async (t) => {
    const { sandbox, mirror } = await startMirror(t, 30);
    const { sku, variant, ...level } = namedLevel(sandbox);
    await untilPastReads(mirror, sandbox);
    const { page, complaints } = await signIn(mirror);
    await expect.poll(() => textOf(page, 'body > header .state')).toBe('Live');
    await expect.poll(() => page.locator('[data-plot] canvas').count()).toBeGreaterThan(0);
    await page.getByRole('searchbox').fill(sku);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: sku, exact: true }).click();
    await expect.poll(() => textOf(page, 'h1')).toContain(variant.product.name);
    await markLoaded(page);

    sandbox.operations.add({ variantId: level.variantId, warehouseId: level.warehouseId, by: 7 });
    const newest = '#history tbody tr:first-child';
    await expect.poll(() => textOf(page, newest)).toContain('+7');
    const change = present(present(sandbox.deliveries.records.at(-1)).delivery.items[0]);
    expect(await textOf(page, newest)).toContain(change.reason);
    expect(await isStillLoaded(page)).toBe(true);
    expect(complaints).toEqual([]);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await page.goto(`${mirror.opsUrl}/stock`);
    await page.getByLabel('Token').waitFor();
  });

  test('says when the page is out of date', async () => {
    const ops = await startOps(newDatabases());
    const { page } = await openPage(browser, ops.url);
    await page.route('**/*', (route) => route.abort());
    await expect.poll(() => textOf(page, '#message')).toContain('The values below are old');
    expect(await page.locator('body.old').count()).toBe(1);
    expect(await textOf(page, 'body > header .state')).toBe('No answer');
    expect(await textOf(page, '#now h1')).toBe('Do not rely on these values');
    await page.unroute('**/*');
    await expect.poll(() => page.locator('body.old').count()).toBe(0);
    expect(await textOf(page, '#message')).toBe('');
  });

  test('shows the cause that the link of an alert names, after the sign-in', async () => {
    const ops = await startOps(newDatabases(), { token: TOKEN });
    const { page } = await openPage(browser, `${ops.url}/causes?from=alert#held_removals`);
    await page.getByLabel('Token').fill('a-wrong-token-0123456789');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('searchbox').waitFor();
    expect(page.url()).toBe(`${ops.url}/causes?from=alert#held_removals`);
    expect(await page.locator('article:target h2').innerText()).toBe('Many products are gone from the store');
  });

  test('keeps a warehouse that is chosen but not yet sent, while the page shows itself again', async () => {
    const databases = newDatabases();
    const found = detail('1', [{ id: '100', levels: { 1: 5, 2: 7 } }]);
    await databases.mirror.append(readInput('1', found, { sentAtMs: Date.now() - 100_000 }));
    const ops = await startOps(databases);
    const { page } = await openPage(browser, `${ops.url}/stock`);
    await page.getByLabel('Warehouse').selectOption('2');
    const age = await textOf(page, '#level-100-1 time');
    await expect.poll(() => textOf(page, '#level-100-1 time')).not.toBe(age);
    expect(await page.getByLabel('Warehouse').inputValue()).toBe('2');
    await page.getByRole('button', { name: 'Filter' }).click();
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
  });

  test.each([1280, 400])('decides on held removals with the token typed again, %i px wide', async (width) => {
    const databases = newDatabases();
    await holdRemovals(databases, 24, { 1: 5, 2: 7 });
    const blocked = { kind: 'credentials', message: '401 invalid_client', sinceMs: 0 } as const;
    const operator = operatorOf(databases, { blocked });
    const ops = await startOps(databases, { operator, token: TOKEN });
    const opened = await signIn({ opsUrl: ops.url }, '/', { viewport: { width, height: 900 } });
    const { page, complaints } = opened;
    await keepScreenshot(page, `trouble-${width}`, 'page');
    await page.locator('#cause-held_removals').getByRole('button', { name: 'Decide about removals' }).click();
    await expect.poll(() => textOf(page, 'h1')).toBe('Held removals');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(24);
    await keepScreenshot(page, `held-${width}`, 'page');
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(overflow)).toBe(0);

    const tick = page.getByRole('checkbox').first();
    await tick.check();
    await page.waitForResponse(page.url());
    await page.waitForResponse(page.url());
    expect(await tick.isChecked()).toBe(true);

    const remove = page.getByRole('button', { name: 'Remove all from the mirror' });
    const decide = async (token: string) => {
      await page.getByLabel('Your name').fill('Ana');
      await page.getByLabel('Reason').fill('end of season');
      await page.getByLabel('OPS_TOKEN').fill(token);
      await remove.click();
    };
    await decide('a-wrong-token-0123456789');
    await expect.poll(() => textOf(page, '[role=alert]')).toContain('The token is wrong');
    expect(operator.orders).toEqual([]);
    await decide(TOKEN);
    await expect.poll(() => textOf(page, 'h1')).toBe('Run 1: full resync');
    expect(operator.orders).toEqual([{ productIds: null, decision: { by: 'Ana', reason: 'end of season' } }]);
    expect(complaints.filter((each) => !each.includes('403'))).toEqual([]);
  });

  test('fits a phone, works in the dark and without scripts, and loads from no other host', async (t) => {
    const { sandbox, mirror } = await startMirror(t, 45);
    const level = await liven(mirror, sandbox);
    const routes = {
      overview: '/',
      stock: '/stock',
      suspects: '/stock?suspect=1',
      variant: `/variants/${level.variantId}`,
      deliveries: '/deliveries',
      dead_letters: '/deliveries?show=dead-letters',
      held: '/problems/held',
      failing: '/problems/failing',
      differences: '/problems/differences',
      runs: '/runs',
      run: '/runs/1',
      missing: '/variants/4040404040',
    };
    const looks: Record<string, BrowserContextOptions> = {
      light: { viewport: { width: 1280, height: 900 } },
      dark: { colorScheme: 'dark' },
      phone: { viewport: { width: 400, height: 844 }, hasTouch: true, timezoneId: 'Asia/Bangkok' },
      'without-scripts': { javaScriptEnabled: false },
    };
    for (const [look, options] of Object.entries(looks)) {
      const { page, complaints } = await signIn(mirror, '/', options);
      page.on('request', (request) => {
        if (!request.url().startsWith(mirror.opsUrl)) complaints.push(request.url());
      });
      for (const [route, path] of Object.entries(routes)) {
        await page.goto(mirror.opsUrl + path);
        await keepScreenshot(page, `ops-${route}-${look}`, 'page');
        if (look === 'without-scripts') continue;
        const [wide, room] = await page.evaluate<[number, number]>(
          '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
        );
        expect([look, route, wide <= room]).toEqual([look, route, true]);
      }
      expect(complaints.filter((each) => !each.includes('404'))).toEqual([]);
    }
  });
});

/** Something to show on each page. */
async function liven(mirror: RunningMirror, sandbox: Sandbox) {
  await untilPastReads(mirror, sandbox);
  const { variant, sku, ...level } = namedLevel(sandbox);
  const others = plainVariants(sandbox, 12).filter(({ variantId }) => variantId !== variant.id);
  for (const [index, by] of [12, -3, -4, 20, -6, -2, 35, -18, -5, 9].entries()) {
    sandbox.operations.add({ variantId: level.variantId, warehouseId: level.warehouseId, by });
    sandbox.operations.add({ ...present(others[index % others.length]), by: 3 + index });
  }
  sandbox.operations.reserve([
    { ...level, qty: 2 },
    ...others.slice(0, 3).map((each) => ({ ...each, qty: 1 })),
  ]);
  await sandbox.network.idle();
  sandbox.network.loseNext(1);
  sandbox.operations.add({ ...present(others[1]), by: 11 });
  sandbox.network.loseNext(1);
  sandbox.operations.add({ variantId: level.variantId, warehouseId: level.warehouseId, by: -1 });
  await resyncWithToken(mirror, [present(others[1]).productId, level.productId]);
  const odd = JSON.stringify({ request_id: 'odd', event_type: 'something_new', request_time: 1, data: {} });
  expect(await deliver(mirror, odd, signBody(sandbox.webhookSecret, Buffer.from(odd)))).toBe(204);
  expect(await deliver(mirror, odd, 'f'.repeat(64))).toBe(401);
  expect(await deliver(mirror, odd, null)).toBe(401);
  sandbox.reads.intercept = (_, body) =>
    Promise.resolve(
      body['product_id'] === present(others[2]).productId
        ? { status: 403, body: { error: 'access_denied', error_description: 'not for this channel' } }
        : undefined,
    );
  sandbox.network.loseNext(1);
  sandbox.operations.add({ ...present(others[2]), by: 5 });
  sandbox.operations.add({ ...present(others[2]), by: -2 });
  await eventually(() => statusOf(mirror.databasePath).open_gaps > 0, { what: 'a suspect level' });
  return level;
}

async function resyncWithToken(mirror: RunningMirror, productIds: readonly string[]): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const { body } = await mirror.post('/api/resync', { product_ids: productIds }, headers);
  await eventually(
    async () =>
      (await mirror.get(`/api/runs/${Number(body['run_id'])}`, headers)).body['state'] !== 'running',
    { what: 'the products are read' },
  );
}
