/** The sandbox's page with its scripts, in a real browser: what is done here is seen on both sides, without a reload. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { available } from '../../src/sandbox/world/model.ts';
import { present } from '../shared/present.ts';
import { levelOf, clientOf, variantOf, withReceiver } from '../sandbox/harness.ts';
import { hasChromium, keepScreenshot, openPage, startChromium } from './chromium.ts';

let browser: Browser;
beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});
afterAll(() => browser?.close());

/** Set once, and gone after a reload. */
const markLoaded = (page: Page) => page.evaluate('window.loadedOnce = true');
const isStillLoaded = (page: Page) => page.evaluate('window.loadedOnce === true');

const textOf = (page: Page, selector: string) => page.locator(selector).innerText();

// On a machine without Chromium these are reported as skipped.
describe.skipIf(!hasChromium)('in Chromium', () => {
  test('stock changed by the form shows at once, and so does the webhook with its answer', async () => {
    const { sandbox, receiver } = await withReceiver();
    const { page, complaints } = await openPage(browser, sandbox.baseUrl);
    await markLoaded(page);
    const variant = variantOf(sandbox, 'own');
    const { variantId, warehouseId } = levelOf(variant);
    const row = `#stock-${variantId}-${warehouseId}`;

    await page.locator(`${row} [name=qty]`).fill('1042');
    await page.locator(`${row} [name=qty]`).press('Enter');

    await expect.poll(() => textOf(page, `${row}-sell`)).toBe('1042');
    expect(await textOf(page, '#message')).toBe('Done.');
    expect(await page.locator(`${row} [name=qty]`).inputValue()).toBe('');
    const hook = '#webhooks-list > li:first-child';
    await expect.poll(() => textOf(page, hook)).toMatch(/204 in \d+ ms/);
    expect(await textOf(page, hook)).toContain('→ 1042 user_adjusted');
    expect(receiver.items()).toMatchObject([{ id: variantId, new: 1042 }]);

    await page.locator(`${row} [name=qty]`).fill('-42');
    await page.locator(`${row} button[value=add]`).click();
    await expect.poll(() => textOf(page, `${row}-sell`)).toBe('1000');

    expect(await isStillLoaded(page)).toBe(true);
    expect(complaints).toEqual([]);
  });

  test('what others do appears within moments, and takes nothing from who is typing', async () => {
    const { sandbox } = await withReceiver();
    const { page } = await openPage(browser, sandbox.baseUrl);
    const variant = variantOf(sandbox, 'own');
    const { variantId, warehouseId } = levelOf(variant);
    const row = `#stock-${variantId}-${warehouseId}`;
    const input = page.locator(`${row} [name=qty]`);
    await input.fill('12');
    await page.locator('#faults [name=loss]').fill('0.5');
    await input.focus();

    sandbox.operations.add({ variantId, warehouseId, by: 7 });
    const { product } = sandbox.operations.createProduct({ name: 'made meanwhile' });
    const gone = present(sandbox.truth.products.find((each) => each !== variant.product && !each.deleted));
    sandbox.operations.deleteProduct(gone.id);
    sandbox.traffic.start(0.001);

    await expect.poll(() => textOf(page, `${row}-sell`)).toBe(String(available(present(variant.levels[0]))));
    await expect.poll(() => textOf(page, `#product-${product.id}-name`)).toBe('made meanwhile');
    await expect.poll(() => page.locator(`#product-${gone.id}`).count()).toBe(0);
    await expect.poll(() => page.locator('#traffic [name=rate]').inputValue()).toBe('0.001');
    expect(await page.locator('#webhooks-list > li').count()).toBe(2);
    expect(await input.inputValue()).toBe('12');
    expect(await page.locator(`${row} [name=qty]:focus`).count()).toBe(1);
    expect(await page.locator('#faults [name=loss]').inputValue()).toBe('0.5');
  });

  test('a webhook is lost by a button, and the page follows it until the product was read', async () => {
    const { sandbox } = await withReceiver();
    const client = await clientOf(sandbox);
    const { page, complaints } = await openPage(browser, sandbox.baseUrl);
    await markLoaded(page);
    await page.getByRole('button', { name: 'Lose a webhook' }).click();
    const loss = '#losses-list > li:first-child';
    await expect.poll(() => textOf(page, '#message')).toBe('Done.');
    await expect
      .poll(() => textOf(page, loss))
      .toMatch(/lost[^]*so one is missing[^]*the receiver reads the product/);
    const { productId } = present(sandbox.losses.recent[0]);
    await client('/v1/product/detail', { product_id: productId });
    await expect.poll(() => textOf(page, loss)).toMatch(/the receiver read the product, \d+\.\d s later/);
    expect(await isStillLoaded(page)).toBe(true);
    expect(complaints).toEqual([]);
  });

  test('a webhook is copied as a command, and sent again', async () => {
    const { sandbox, receiver } = await withReceiver();
    sandbox.operations.add({ ...levelOf(variantOf(sandbox, 'own')), by: 3 });
    await sandbox.network.idle();
    const { page, complaints } = await openPage(browser, sandbox.baseUrl, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.locator('#webhooks-list > li:first-child a').click();
    await page.getByRole('button', { name: 'Copy' }).click();
    await expect.poll(() => page.getByRole('button', { name: 'Copied' }).count()).toBe(1);
    const { delivery } = present(sandbox.deliveries.records[0]);
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain(delivery.body.toString());
    await page.getByRole('button', { name: 'Send again' }).click();
    await expect.poll(() => textOf(page, '#webhook-fates > p:nth-child(2)')).toMatch(/^204 in \d+ ms/);
    expect(receiver.received.map(({ raw }) => raw.toString())).toEqual([
      delivery.body.toString(),
      delivery.body.toString(),
    ]);
    expect(complaints).toEqual([]);
  });

  test.each([
    ['light', {}],
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 360, height: 740 } }],
  ] as const)('single webhooks and calls fit the window: %s', async (name, options) => {
    const { sandbox } = await withReceiver();
    sandbox.losses.lose();
    const client = await clientOf(sandbox);
    await client('/v1/order/create', { shipping_type: 'flash', products: [{ sku: 'ก'.repeat(300) }] });
    const [call] = sandbox.calls.recent;
    const [record] = sandbox.deliveries.records;
    const places = {
      webhook: `/webhooks/${present(record).delivery.requestId}`,
      calls: '/calls',
      call: `/calls/${present(call).id}`,
    };
    const { page } = await openPage(browser, sandbox.baseUrl, options);
    for (const [what, path] of Object.entries(places)) {
      await page.goto(sandbox.baseUrl + path);
      const [wide, room] = await page.evaluate<[number, number]>(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      );
      expect(wide, what).toBeLessThanOrEqual(room);
      await keepScreenshot(page, `sandbox-${what}-${name}`);
    }
  });

  test('a sandbox that ended is told, and the page goes on when it is back', async () => {
    const { sandbox, receiver } = await withReceiver();
    const { page } = await openPage(browser, sandbox.baseUrl);
    await sandbox.stop();
    await expect.poll(() => textOf(page, '#message')).toContain('Is it still running?');
    const again = await withReceiver({ port: sandbox.port, products: 1, webhookUrl: receiver.url });
    await expect
      .poll(() => page.locator('#stock-list > tbody').count())
      .toBe(again.sandbox.truth.products.length);
    expect(await page.locator('#message').innerText()).toBe('');
  });

  test('a name that looks like a script is text', async () => {
    const { sandbox } = await withReceiver({ products: 0 });
    const { page } = await openPage(browser, sandbox.baseUrl);
    const name = '<img src=x onerror="window.broken = true"><script>window.broken = true</script>';
    const { product } = sandbox.operations.createProduct({ name, variants: [{ sku: name, name }] });
    await expect.poll(() => textOf(page, `#product-${product.id}-name`)).toBe(name);
    await page.reload();
    expect(await textOf(page, `#product-${product.id}-name`)).toBe(name);
    expect(await page.evaluate('window.broken')).toBeUndefined();
  });

  test('a form of another page, posted here by the browser, is refused', async () => {
    const { sandbox } = await withReceiver();
    const other = await withReceiver({ products: 1 });
    const { page } = await openPage(browser, other.sandbox.baseUrl);
    const posted = await page.evaluate(`
      fetch(${JSON.stringify(sandbox.baseUrl)} + '/page/traffic', {
        method: 'POST', mode: 'no-cors', body: new URLSearchParams({ rate: '5' }),
      }).then(() => 'sent', (error) => 'kept back: ' + error.message)`);
    // The other page's own policy keeps it back already; without a policy, the sandbox does.
    expect(posted).toContain('kept back');
    await page.goto('about:blank');
    const answered = page.waitForResponse((response) => response.url().endsWith('/page/traffic'));
    await page.setContent(
      `<form method="post" action="${sandbox.baseUrl}/page/traffic"><input name="rate" value="5"><button>x</button></form>`,
    );
    await page.locator('button').click();
    expect((await answered).status()).toBe(403);
    expect(sandbox.traffic.rate).toBe(0);
  });

  test.each([
    ['light', {}],
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 390, height: 844 }, hasTouch: true }],
    ['phone-dark', { viewport: { width: 360, height: 740 }, colorScheme: 'dark' }],
    ['without-scripts', { javaScriptEnabled: false }],
  ] as const)('it fits the window, and its text can be read: %s', async (name, options) => {
    const { sandbox } = await withReceiver({ products: 45 });
    const own = sandbox.truth.variants.filter(({ kind, levels }) => kind === 'own' && levels.length > 0);
    for (const [index, { id }] of own.slice(0, 6).entries())
      sandbox.operations.add({ variantId: id, by: 50 + index });
    await sandbox.network.idle();
    const { page } = await openPage(browser, sandbox.baseUrl, options);
    await keepScreenshot(page, name);
    await keepScreenshot(page, `${name}-whole`, 'page');
    if (name === 'without-scripts') return;
    const [wide, room] = await page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );
    expect(wide).toBeLessThanOrEqual(room);
    // What cannot be reached by touch is too small for a finger.
    const small = await page.evaluate<number>(
      "[...document.querySelectorAll('button')].filter((it) => it.getBoundingClientRect().height < 24).length",
    );
    expect(small).toBe(0);
  });

  test('without scripts, a form leads back to the page with what was done', async () => {
    const { sandbox } = await withReceiver();
    const { page } = await openPage(browser, sandbox.baseUrl, { javaScriptEnabled: false });
    const { variantId, warehouseId } = levelOf(variantOf(sandbox, 'own'));
    const row = `#stock-${variantId}-${warehouseId}`;
    await page.locator(`${row} [name=qty]`).fill('77');
    await page.locator(`${row} button[value=set]`).click();
    await page.waitForURL(/done/);
    expect(await textOf(page, `${row}-sell`)).toBe('77');
    expect(await textOf(page, '#message')).toBe('Done.');
  });
});
