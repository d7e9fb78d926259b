/** Makes the picture of the page for the README: `PAGE_PICTURE=1 npm run test:full -- test/browser/page-picture` */
import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startBoth } from '../process/harness.ts';
import { hasChromium, openPage, startChromium } from './chromium.ts';

const PICTURE = new URL('../../docs/page.png', import.meta.url).pathname;
const MAX_BYTES = 200_000;

test.runIf(hasChromium && process.env['PAGE_PICTURE'] !== undefined)(
  'shows a mirror under traffic, with a lost webhook',
  async (t) => {
    const browser = await startChromium();
    t.onTestFinished(() => browser.close());
    const { sandbox, mirror } = await startBoth(t, { products: 40 });
    sandbox.network.loss = 0.02;
    sandbox.traffic.start(4);
    const { page } = await openPage(browser, mirror.opsUrl, { viewport: { width: 1280, height: 760 } });
    // So that each plot has a line.
    await expect
      .poll(() => page.locator('#plots-table tbody tr').count(), { timeout: 240_000 })
      .toBeGreaterThanOrEqual(3);
    await page.screenshot({ path: PICTURE });
    sandbox.traffic.stop();
    expect(statSync(PICTURE).size).toBeLessThanOrEqual(MAX_BYTES);
  },
  300_000,
);
