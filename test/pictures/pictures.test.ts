/** Every page of the mirror and of the simulated store, in every light, window, size and state: `npm run pictures`. */
import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest';
import type { Browser } from 'playwright-core';
import { hasChromium, startChromium } from '../browser/chromium.ts';
import { lookAt, openWindows } from '../browser/looks.ts';
import { SCENES, setStage } from '../browser/stage.ts';

let browser: Browser;
beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});
afterAll(() => browser?.close());

describe.skipIf(!hasChromium)('in Chromium', () => {
  test.each([20, 5_000])(
    'every page in every state, with %i products',
    async (products) => {
      const stage = await setStage({ onTestFinished }, products);
      for (const scene of SCENES) {
        for (const window of await openWindows(browser)) {
          await stage.begin(scene);
          await lookAt(window, await stage.mirrorPages(), `${products}-${scene}-mirror`, 'all');
          await lookAt(window, stage.storePages(), `${products}-${scene}`, 'all');
          await window.page.context().close();
        }
      }
    },
    600_000,
  );
});
