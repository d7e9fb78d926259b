import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';

const EXECUTABLE = '/usr/bin/chromium';

export const hasChromium = existsSync(EXECUTABLE);

/** Only a hang takes so long. */
const ONLY_A_HANG_MS = 120_000;

/** Ignored by git. */
const SCREENSHOTS = join(import.meta.dirname, 'screenshots');

export async function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: EXECUTABLE,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** @returns also the errors and warnings on the page's console. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(ONLY_A_HANG_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(url);
  return { page, complaints };
}

export async function keepScreenshot(
  page: Page,
  name: string,
  shows: 'window' | 'page' = 'window',
): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: shows === 'page' });
}
