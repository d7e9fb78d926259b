/** What holds for every page in every light and window: asked of the page as it was drawn. */
import { spawnSync } from 'node:child_process';
import type { Page } from 'playwright-core';

/** Ids as stores and sandboxes make them, shortened or not. */
const ID = String.raw`/\b(?:\d{15,}|\d{8}…\d{4}|whk_[\w]+|TH\d{8,})\b/g`;

/** The text that a person sees: not hidden for screen readers, not closed away. */
const SEEN_TEXTS = String.raw`
  const seenTexts = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const it = node.parentElement;
      if (node.data.trim() === '' || it.closest('script, style, noscript, .hidden, .skip, option, title, desc')) continue;
      if (!it.checkVisibility({ visibilityProperty: true, opacityProperty: true, contentVisibilityAuto: true })) continue;
      found.push(node);
    }
    return found;
  };`;

/** Each id that takes more than one line, with where it stands. */
export function brokenIds(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    ${SEEN_TEXTS}
    const broken = [];
    for (const node of seenTexts()) {
      for (const { 0: id, index } of node.data.matchAll(${ID})) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + id.length);
        // Code to be copied scrolls or wraps as a whole.
        if (node.parentElement.closest('pre')) continue;
        if (range.getClientRects().length > 1) broken.push(id + ' in ' + node.parentElement.outerHTML.slice(0, 120));
      }
    }
    return broken;
  })()`);
}

/** How much wider the page is than its window, in px. */
export function excessWidth(page: Page): Promise<number> {
  return page.evaluate<number>(
    'Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)',
  );
}

/** Buttons too small for a finger. */
export function smallButtons(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    "[...document.querySelectorAll('button')].filter((it) => it.offsetParent && it.getBoundingClientRect().height < 24).map((it) => it.textContent)",
  );
}

/** Text whose contrast with what is behind it is below 4.5, the least that WCAG's level AA asks of text of this size. */
export function faintTexts(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(String.raw`(() => {
    ${SEEN_TEXTS}
    const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
    const parse = (colour) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      return { rgb: [r, g, b], alpha: a / 255 };
    };
    // What a page lies on that has no colour of its own: it depends on the light.
    const probe = document.body.appendChild(document.createElement('div'));
    probe.style.backgroundColor = 'Canvas';
    const paper = parse(getComputedStyle(probe).backgroundColor).rgb;
    probe.remove();
    const over = (top, below, alpha) => top.map((value, i) => value * alpha + below[i] * (1 - alpha));
    const light = (rgb) => {
      const [r, g, b] = rgb.map((value) => {
        const part = value / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const groundOf = (it) => {
      const layers = [];
      for (let each = it; each; each = each.parentElement) layers.push(parse(getComputedStyle(each).backgroundColor));
      return layers.reverse().reduce((below, { rgb, alpha }) => over(rgb, below, alpha), paper);
    };
    const opacityOf = (it) => {
      let all = 1;
      for (let each = it; each; each = each.parentElement) all *= Number(getComputedStyle(each).opacity);
      return all;
    };
    const faint = new Set();
    for (const node of seenTexts()) {
      const it = node.parentElement;
      if (it.closest(':disabled')) continue;
      const style = getComputedStyle(it);
      const ground = groundOf(it);
      const { rgb, alpha } = parse(it.closest('svg') ? style.fill : style.color);
      const [a, b] = [light(over(rgb, ground, alpha * opacityOf(it))), light(ground)];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) faint.add(ratio.toFixed(2) + ': ' + node.data.trim().slice(0, 40) + ' (' + it.tagName + '.' + it.className + ')');
    }
    return [...faint];
  })()`);
}

/** The families on this machine that have Thai letters. */
export function thaiFonts(): string[] {
  const { stdout } = spawnSync('fc-list', [':lang=th', 'family'], { encoding: 'utf8' });
  return [
    ...new Set((stdout ?? '').split('\n').flatMap((line) => line.split(',').map((name) => name.trim()))),
  ].filter((name) => name !== '');
}

/** Which families the browser drew the Thai letters of this element with. */
export async function fontsOf(page: Page, selector: string): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send('DOM.enable');
    await session.send('CSS.enable');
    const { root } = await session.send('DOM.getDocument');
    const { nodeId } = await session.send('DOM.querySelector', { nodeId: root.nodeId, selector });
    const { fonts } = await session.send('CSS.getPlatformFontsForNode', { nodeId });
    return fonts.map(({ familyName }) => familyName);
  } finally {
    await session.detach();
  }
}
