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

  test.each([1280, 400])(
    'shows the settings for the mirror on the first screen, %i px wide',
    async (width) => {
      const sandbox = await sandboxFor({ products: 30 });
      const { page, complaints } = await openPage(browser, sandbox.baseUrl, {
        viewport: { width, height: 900 },
      });
      for (const id of ['connection', 'products']) {
        const box = await page.locator(`#${id}`).boundingBox();
        expect(box?.y).toBeLessThan(600);
      }
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(overflow).toBe(0);
      await keepScreenshot(page, `sandbox-${width}`, 'page');
      expect(complaints).toEqual([]);
    },
  );

  test('deletes products and changes stock without a reload', async () => {
    const sandbox = await sandboxFor({ products: 30 });
    const { page, complaints } = await openPage(browser, sandbox.baseUrl);
    await page.locator('#products [name=delete]').click();
    await expect
      .poll(() => page.locator('#products p').textContent())
      .toContain('9 products, and 21 deleted.');

    const { variantId, warehouseId } = levelOf(variantOf(sandbox, 'own'));
    const row = page.locator(`#stock-${variantId}-${warehouseId}`);
    await row.locator('summary').click();
    await row.locator('[name=qty]').fill('1042');
    await row.locator('button[value=set]').click();
    await expect.poll(() => row.locator('[data-label="To sell"]').textContent()).toBe('1042');
    expect(complaints).toEqual([]);
  });
});
