/** Makes the picture of the page for the README: `PAGE_PICTURE=1 npm run test:full -- test/browser/page-picture` */
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startBoth } from '../process/harness.ts';
import { hasChromium, openPage, startChromium } from './chromium.ts';

const PICTURE = new URL('../../docs/page.png', import.meta.url).pathname;
const MAX_BYTES = 200_000;

/** The rates of its traffic change each minute, so that the plots have a shape. */
const MINUTES = 22;

test.runIf(hasChromium && process.env['PAGE_PICTURE'] !== undefined)(
  'shows a mirror with a history: traffic, lost webhooks and a full read',
  async (t) => {
    const browser = await startChromium();
    t.onTestFinished(() => browser.close());
    const { sandbox, mirror } = await startBoth(t, { products: 40 });
    sandbox.network.loss = 0.02;
    const { page } = await openPage(browser, mirror.opsUrl, { viewport: { width: 1280, height: 820 } });
    for (let minute = 0; minute < MINUTES; minute += 1) {
      sandbox.traffic.start(3 + 2 * Math.sin(minute / 3));
      if (minute === MINUTES / 2) await mirror.post('/api/resync', {});
      await sleep(60_000);
    }
    const rows = page.locator('#plots-table tbody tr');
    await expect.poll(() => rows.count(), { timeout: 60_000 }).toBeGreaterThanOrEqual(MINUTES);
    await page.screenshot({ path: PICTURE });
    sandbox.traffic.stop();
    expect(statSync(PICTURE).size).toBeLessThanOrEqual(MAX_BYTES);
  },
  (MINUTES + 3) * 60_000,
);
