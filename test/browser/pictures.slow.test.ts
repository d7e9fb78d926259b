/** Pages of the mirror and of the simulated store, in each light, window and state. A page with a fault leaves its picture. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Browser } from 'playwright-core';
import { openPage, hasChromium, startChromium } from './chromium.ts';
import { lookAt, openWindows } from './looks.ts';
import { fontsOf, thaiFonts } from './page-checks.ts';
import { SCENES, setStage } from './stage.ts';
import { withReceiver } from '../sandbox/harness.ts';

const PRODUCTS = 20;
/** Those that differ little from others, or are long. */
const LEFT_OUT = ['quarter', 'week', 'search'];
const WITHOUT_THAI = 'no font of this machine has Thai letters';

let browser: Browser;
beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});
afterAll(() => browser?.close());

describe.skipIf(!hasChromium)('in Chromium', () => {
  test('in every state, a page is whole, and its text can be read', async () => {
    const stage = await setStage({ onTestFinished }, PRODUCTS);
    const windows = await openWindows(browser);
    const ofStore = without(stage.storePages(), LEFT_OUT);
    for (const scene of SCENES) {
      // The store's pages are the same whatever its mirror does: they fill the longest wait.
      const isLast = scene === SCENES.at(-1);
      await Promise.all([
        stage.begin(scene),
        ...(isLast ? windows.map((window) => lookAt(window, ofStore, `${PRODUCTS}`)) : []),
      ]);
      const pages = await stage.mirrorPages();
      const ofMirror = scene === 'calm' ? without(pages, LEFT_OUT) : only(pages, ['overview', 'run']);
      await Promise.all(windows.map((window) => lookAt(window, ofMirror, `${PRODUCTS}-${scene}-mirror`)));
    }

    for (const { page } of windows) await page.context().close();
  }, 150_000);

  test('Thai names are drawn with letters', async (t) => {
    const fonts = thaiFonts();
    if (fonts.length === 0) return t.skip(WITHOUT_THAI);
    const { sandbox } = await withReceiver({ products: 0 });
    const { product } = sandbox.operations.createProduct({ name: 'ครีมกันแดดสำหรับผิวแพ้ง่าย' });
    const { page } = await openPage(browser, sandbox.baseUrl);
    const drawn = await fontsOf(page, `#product-${product.id}-name`);
    expect(drawn).not.toEqual([]);
    for (const font of drawn) expect(fonts).toContain(font);
  });
});

type Pages = Readonly<Record<string, string>>;

function only(pages: Pages, names: readonly string[]): Pages {
  return Object.fromEntries(Object.entries(pages).filter(([name]) => names.includes(name)));
}

function without(pages: Pages, names: readonly string[]): Pages {
  return Object.fromEntries(Object.entries(pages).filter(([name]) => !names.includes(name)));
}
