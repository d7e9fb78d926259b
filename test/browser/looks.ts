/** The lights and windows that each page is looked at in, and what must hold of every picture. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { keepScreenshot } from './chromium.ts';
import { brokenIds, excessWidth, faintTexts, smallButtons } from './page-checks.ts';

const LOOKS = {
  light: { viewport: { width: 1280, height: 900 } },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, timezoneId: 'Asia/Bangkok' },
} as const satisfies Record<string, BrowserContextOptions>;
type Look = keyof typeof LOOKS;

/** Where no id may wrap. */
const WIDE = 1280;

interface Window {
  readonly look: Look;
  readonly page: Page;
  /** What the browser complains of on the console. */
  readonly complaints: string[];
}

/** One window for each look, which outlasts the test that opened it. */
export async function openWindows(browser: Browser): Promise<Window[]> {
  const windows: Window[] = [];
  for (const look of Object.keys(LOOKS) as Look[]) {
    const context = await browser.newContext(LOOKS[look]);
    context.setDefaultTimeout(10_000);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    windows.push({ look, page, complaints });
  }
  return windows;
}

/** What is wrong with a page as it is drawn, apart from its picture. */
async function faultsOf({ look, page, complaints }: Window): Promise<string[]> {
  const said = complaints.splice(0);
  const [excess, broken, faint, small] = await Promise.all([
    excessWidth(page),
    LOOKS[look].viewport.width < WIDE ? [] : brokenIds(page),
    faintTexts(page),
    smallButtons(page),
  ]);
  return [
    ...said.map((each) => `console: ${each}`),
    ...(excess > 0 ? [`${excess} px wider than the window`] : []),
    ...broken.map((each) => `id in several lines: ${each}`),
    ...faint.map((each) => `contrast ${each}`),
    ...small.map((each) => `button too small: ${each}`),
  ];
}

/** Opens each of these pages in this window, and fails with all that is wrong with any of them. */
export async function lookAt(
  window: Window,
  pages: Readonly<Record<string, string>>,
  name: string,
): Promise<void> {
  const found: Record<string, string[]> = {};
  for (const [what, url] of Object.entries(pages)) {
    await window.page.goto(url);
    const picture = `${name}-${what}-${window.look}`;
    const faults = await faultsOf(window);
    if (faults.length === 0) continue;
    found[picture] = faults;
    await keepScreenshot(window.page, picture, 'page');
  }
  // A page that stays open would complain of what the next scene does.
  await window.page.goto('about:blank');
  window.complaints.length = 0;
  expect.soft(found, JSON.stringify(found)).toEqual({});
}
