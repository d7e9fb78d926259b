/** The plots of the overview: their figures by pointer and keyboard, their time spans, and a history that outlasts the process. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import {
  plainVariants,
  rows,
  startMirror,
  startService,
  temporaryFolder,
  untilDelivered,
  untilLive,
  untilQuiet,
} from '../process/harness.ts';
import { present } from '../shared/present.ts';
import { hasChromium, openPage, startChromium } from './chromium.ts';
import { DOWNTIMES, noteWeek } from './history.ts';

let browser: Browser;
beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});
afterAll(() => browser?.close());

const told = (page: Page, plot: string) => page.locator(`#${plot}-plot + output.told`);

/** Points at the middle of the stretch that began so many stretches ago. */
async function pointAt(page: Page, plot: string, stretchesAgo: number): Promise<void> {
  const svg = page.locator(`#${plot}-plot`);
  await svg.scrollIntoViewIfNeeded();
  const box = present((await svg.boundingBox()) ?? undefined);
  const count = present((await svg.getAttribute('data-figures')) ?? undefined).split(';').length;
  await page.mouse.move(box.x + ((count - 0.5 - stretchesAgo) / count) * box.width, box.y + box.height / 2);
}

/** What the plot of deliveries shows, by the minute. */
async function minutesOf(page: Page): Promise<Map<number, string>> {
  const {
    from = '',
    step = '',
    figures = '',
  } = await page.evaluate<Record<string, string>>(
    "({ ...document.querySelector('#deliveries-plot').dataset })",
  );
  return new Map(figures.split(';').map((each, at) => [Number(from) + at * Number(step), each]));
}

describe.skipIf(!hasChromium)('in Chromium', () => {
  test('a plot tells its figures, downtime and restarts, and remembers them over a restart', async () => {
    const sandbox = await startService({ onTestFinished }, { products: 12 });
    const folder = temporaryFolder({ onTestFinished });
    const first = await startMirror({ onTestFinished }, sandbox, { folder });
    await untilLive(first);
    await untilQuiet(first, sandbox);
    const [level] = plainVariants(sandbox, 1);
    for (const by of [3, 4, 5, 6, 7]) sandbox.operations.add({ ...level, by });
    await untilDelivered(first, sandbox);
    await first.stop();
    const sinceRows = rows<{ minute: number }>(
      first.databasePath,
      'SELECT max(minute) AS minute FROM minutes',
    );
    expect(present(sinceRows[0]).minute).toBeGreaterThan(0);
    await noteWeek(first.databasePath, Date.now(), 12);

    const mirror = await startMirror({ onTestFinished }, sandbox, { folder });
    await untilLive(mirror);
    const { page, complaints } = await openPage(browser, `${mirror.opsUrl}/`);

    // By pointer: the deliveries of before the restart, and that there was one.
    await expect(told(page, 'deliveries').isHidden()).resolves.toBe(true);
    await pointAt(page, 'deliveries', 10);
    await expect
      .poll(() => told(page, 'deliveries').innerText())
      .toMatch(/^\d\d-\d\d \d\d:\d\d: committed \d+, refused \d+/);
    const [{ from, to }] = DOWNTIMES;
    await pointAt(page, 'deliveries', (from + to) / 2 + 1);
    await expect
      .poll(() => told(page, 'deliveries').innerText())
      .toMatch(/committed –, refused –, the mirror did not run$/);
    await page.mouse.move(1, 1);
    await expect.poll(() => told(page, 'deliveries').isHidden()).toBe(true);

    // By keyboard: from the present backwards to the restart. A minute may end meanwhile.
    const deliveries = () => told(page, 'deliveries').innerText();
    await page.locator('#deliveries-plot').focus();
    for (let back = 0; back < 3 && !(await deliveries()).includes('the mirror started'); back += 1)
      await page.keyboard.press('ArrowLeft');
    const start = await deliveries();
    expect(start).toContain('the mirror started');
    await page.keyboard.press('ArrowLeft');
    expect((await deliveries()).slice(0, 11) < start.slice(0, 11)).toBe(true);
    await page.keyboard.press('Home');
    expect((await deliveries()).slice(0, 11) < start.slice(0, 11)).toBe(true);
    // What is told outlasts the page's own renewal.
    await page.waitForResponse((response) => response.url() === `${mirror.opsUrl}/`);
    expect(await deliveries()).toMatch(/committed \d+/);
    await page.keyboard.press('End');
    expect((await deliveries()).slice(0, 11) >= start.slice(0, 11)).toBe(true);

    const drawn = (selector: string) => page.locator(`#deliveries-plot ${selector}`).count();
    const spans = [
      { name: '15 min', words: 'The last 15 minutes', stretches: 15, bands: 0 },
      { name: '1 h', words: 'The last hour', stretches: 60, bands: 1 },
      { name: '1 d', words: 'The last day', stretches: 144, bands: 1 },
      { name: '7 d', words: 'The last week', stretches: 168, bands: 2 },
    ];
    for (const { name, words, stretches, bands } of spans) {
      await page.getByRole('link', { name, exact: true }).click();
      await expect.poll(() => page.locator('#plots-title').innerText()).toBe(words);
      const figures = present(
        (await page.locator('#deliveries-plot').getAttribute('data-figures')) ?? undefined,
      );
      expect([name, figures.split(';').length]).toEqual([name, stretches]);
      expect([name, (await drawn('rect.down')) >= bands]).toEqual([name, true]);
      expect([name, (await drawn('line.mark.restart')) > bands]).toEqual([name, true]);
      expect([name, (await drawn('line.mark.run')) > 0]).toEqual([name, true]);
    }
    expect(complaints).toEqual([]);

    // All of it is there again, whatever process tells it.
    await page.goto(`${mirror.opsUrl}/`);
    const before = await minutesOf(page);
    await mirror.stop();
    const next = await startMirror({ onTestFinished }, sandbox, { folder });
    await untilLive(next);
    await expect
      .poll(async () => {
        await page.goto(`${next.opsUrl}/`);
        const after = await minutesOf(page);
        // The last one was not over, and the first one may be out of sight.
        return [...before].slice(1, -1).filter(([minute, figures]) => after.get(minute) !== figures);
      })
      .toEqual([]);
    expect([...before.values()].some((figures) => /^[1-9]/.test(figures))).toBe(true);
  }, 60_000);
});
