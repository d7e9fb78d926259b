/** The sandbox's page in Chromium. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { levelOf, sandboxFor, variantOf } from '../sandbox/harness.ts';
import { hasChromium, keepScreenshot, openPage, startChromium } from './chromium.ts';

describe.skipIf(!hasChromium)('the page of the simulated store', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(() => browser.close());

  test.each([1280, 400])('shows faults and settings on the first screen, %i px wide', async (width) => {
    const sandbox = await sandboxFor({ products: 30 });
    const { page, complaints } = await openPage(browser, sandbox.baseUrl, {
      viewport: { width, height: 900 },
    });
    for (const form of ['traffic', 'faults', 'settings']) {
      const box = await page.locator(`#${form} > summary`).boundingBox();
      expect(box?.y).toBeLessThan(600);
    }
    const overflow = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    expect(overflow).toBe(0);
    await keepScreenshot(page, `sandbox-${width}`, 'page');
    expect(complaints).toEqual([]);
  });

  test('sets a fault and changes stock without a reload', async () => {
    const sandbox = await sandboxFor();
    const { page, complaints } = await openPage(browser, sandbox.baseUrl);
    await page.locator('#faults > summary').click();
    await page.locator('#faults [name=loss]').fill('0.5');
    await page.locator('#faults button').click();
    await expect.poll(() => sandbox.network.loss).toBe(0.5);
    expect(await page.locator('#faults').getAttribute('open')).not.toBeNull();

    const { variantId, warehouseId } = levelOf(variantOf(sandbox, 'own'));
    const row = page.locator(`#stock-${variantId}-${warehouseId}`);
    await row.locator('summary').click();
    await row.locator('[name=qty]').fill('1042');
    await row.locator('button[value=set]').click();
    await expect.poll(() => row.locator('[data-label="To sell"]').textContent()).toBe('1042');
    expect(complaints).toEqual([]);
  });
});
