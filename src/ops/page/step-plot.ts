/** A quantity over time, which holds until the next change. */
import { html } from 'hono/html';
import type { VariantChange } from '../../mirror/queries/page/variant.ts';
import { count, quantity } from './figures.ts';
import type { Html } from '../../web/html.ts';
import { niceCeiling, round } from './plot.ts';

interface StepPlotOptions {
  /** Unique on the page. */
  readonly id: string;
  readonly title: string;
  /** Of one warehouse, or of the total; newest first. */
  readonly changes: readonly VariantChange[];
  /** Up to when the last figure holds; null: up to now. */
  readonly untilMs: number | null;
  readonly nowMs: number;
  readonly labelOf: (change: VariantChange) => string;
}

const WIDTH = 480;
const HEIGHT = 150;
const TOP = 10;
const FLOOR = HEIGHT - 20;
const RIGHT = WIDTH - 8;

export function stepPlot({ id, title, changes, untilMs, nowMs, labelOf }: StepPlotOptions): Html {
  const oldestFirst = changes.toReversed();
  const first = oldestFirst[0];
  if (first === undefined) return html``;
  const values = oldestFirst.flatMap(({ oldQty, newQty }) =>
    [oldQty, newQty].filter((value) => value !== null),
  );
  const high = niceCeiling(Math.max(0, ...values));
  const lowest = Math.min(0, ...values);
  const low = lowest < 0 ? -niceCeiling(-lowest) : 0;
  const endMs = untilMs ?? nowMs;
  const spanMs = Math.max(1, endMs - first.recordedAtMs);
  // Room before the first change shows the quantity before it.
  const startMs = first.recordedAtMs - spanMs * 0.04;
  const x = (atMs: number): number => round(((atMs - startMs) / (endMs - startMs)) * RIGHT);
  const y = (value: number): number => round(FLOOR - ((value - low) / (high - low)) * (FLOOR - TOP));

  let path = first.oldQty === null ? '' : `M0 ${y(first.oldQty)}`;
  for (const { recordedAtMs, oldQty, newQty } of oldestFirst) {
    if (oldQty !== null) path += `H${x(recordedAtMs)}`;
    if (newQty !== null) path += `${oldQty === null ? `M${x(recordedAtMs)} ` : 'V'}${y(newQty)}`;
  }
  const last = oldestFirst.at(-1);
  if (last !== undefined && last.newQty !== null) path += `H${RIGHT}`;
  return html`<figure class="plot wide">
    <figcaption>
      <b>${title}</b>
      <span class="key a">webhook</span> <span class="key b">read</span>
    </figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${id}-title ${id}-desc">
      <title id="${id}-title">${title}</title>
      <desc id="${id}-desc">
        ${count(changes.length, 'change')} between ${quantity(Math.min(...values))} and
        ${quantity(Math.max(...values))}. The table lists each change.
      </desc>
      <line class="grid" x1="0" x2="${WIDTH}" y1="${TOP}" y2="${TOP}" />
      <line class="axis" x1="0" x2="${WIDTH}" y1="${y(0)}" y2="${y(0)}" />
      ${low < 0 ? html`<text class="tick" x="2" y="${FLOOR - 3}">${quantity(low)}</text>` : ''}
      <path class="line" d="${path}" />
      ${oldestFirst.map((change) => dot(change, x(change.recordedAtMs), y(change.newQty ?? 0), labelOf(change)))}
      <text class="tick" x="2" y="${TOP + 11}">${quantity(high)}</text>
      ${tick(first.recordedAtMs, 2)}
      ${untilMs === null ? html`<text class="tick" x="${WIDTH - 2}" y="${HEIGHT - 4}" text-anchor="end">now</text>` : tick(untilMs, WIDTH - 2)}
    </svg>
  </figure>`;
}

function tick(atMs: number, x: number): Html {
  const at = new Date(atMs).toISOString();
  return html`<text
    class="tick"
    x="${x}"
    y="${HEIGHT - 4}"
    text-anchor="${x > WIDTH / 2 ? 'end' : 'start'}"
    data-zone="${at}"
  >
    ${at.slice(0, 16).replace('T', ' ')} UTC
  </text>`;
}

function dot({ source }: VariantChange, x: number, y: number, label: string): Html {
  return html`<circle class="${source === 'read' ? 'b' : 'a'}" cx="${x}" cy="${y}" r="3">
    <title>${label}</title>
  </circle>`;
}
