/** Times, ages, durations and quantities as the page writes them. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import { spell as duration } from '../condition/spell.ts';

export { duration };

/** `2026-11-21 18:26:05 UTC`; scripts show it in the reader's time zone. */
export function instant(atMs: number): Html {
  const iso = new Date(atMs).toISOString();
  return html`<time datetime="${iso}" data-zone>${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;
}

/** `3 min ago`, with the exact time on hover. */
export function ago(atMs: number | null, nowMs: number, never = 'never'): Html {
  if (atMs === null) return html`${never}`;
  const iso = new Date(atMs).toISOString();
  return html`<time datetime="${iso}" title="${iso}" data-ago>${agoText(atMs, nowMs)}</time>`;
}

export function agoText(atMs: number, nowMs: number): string {
  const ageMs = nowMs - atMs;
  return ageMs < 1_500 ? 'just now' : `${duration(ageMs)} ago`;
}

export function millis(ms: number): string {
  return ms < 10 ? `${Math.round(ms * 10) / 10} ms` : `${Math.round(ms).toLocaleString('en')} ms`;
}

/** `12,345`; negative figures with a true minus sign. */
export function quantity(value: number | null): string {
  return value === null ? '–' : value.toLocaleString('en').replace('-', '−');
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${quantity(value)} ${value === 1 ? one : many}`;
}

export function signed(value: number): string {
  return value > 0 ? `+${quantity(value)}` : quantity(value);
}

export function bytes(value: number | null): string {
  if (value === null) return 'size unknown';
  return value < 10_000 ? `${quantity(value)} bytes` : `${quantity(Math.round(value / 1_024))} KiB`;
}
