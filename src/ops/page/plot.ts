/** Small SVG plots, drawn here without any library; colours come from the style sheet. */
import { html } from 'hono/html';
import { instant } from './figures.ts';
import type { Html } from '../../web/html.ts';

export interface Point {
  readonly atMs: number;
  /** Null: not known. */
  readonly value: number | null;
}

interface Series {
  readonly name: string;
  /** Chooses its colour: `line a`, `bar bad`, … */
  readonly look: 'a' | 'b' | 'bad';
  readonly points: readonly Point[];
}

interface PlotOptions {
  /** Unique on the page. */
  readonly id: string;
  readonly title: string;
  readonly shape: 'line' | 'bar';
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Shown beside the title. */
  readonly summary: string;
  /** Rows of the table with the same figures. */
  readonly tableRows: number;
  /** The smallest upper end of the scale; 1 by default. */
  readonly leastTop?: number;
}

const WIDTH = 400;
const HEIGHT = 120;
const TOP = 8;
const BOTTOM = 18;
const LEFT = 2;
const FLOOR = HEIGHT - BOTTOM;

export function plot({
  id,
  title,
  shape,
  series,
  format,
  summary,
  tableRows,
  leastTop = 1,
}: PlotOptions): Html {
  const known = series.flatMap(({ points }) =>
    points.flatMap(({ value }) => (value === null ? [] : [value])),
  );
  const top = niceCeiling(Math.max(leastTop, ...known));
  const count = series[0]?.points.length ?? 0;
  const x = (index: number): number => LEFT + ((index + 0.5) / count) * (WIDTH - 2 * LEFT);
  const y = (value: number): number => FLOOR - (value / top) * (FLOOR - TOP);
  const first = series[0]?.points.at(0);
  const last = series[0]?.points.at(-1);
  return html`<figure class="plot" aria-labelledby="${id}-name">
    <figcaption>
      <b id="${id}-name">${title}</b> <span class="quiet">${summary}</span>
      ${series.length > 1 ? series.map(({ name, look }) => html`<span class="key ${look}">${name}</span>`) : ''}
    </figcaption>
    ${
      known.length === 0
        ? html`<p class="empty">Not known yet.</p>`
        : html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${id}-title ${id}-desc">
            <title id="${id}-title">${title}</title>
            <desc id="${id}-desc">
              ${summary}; at most ${format(Math.max(...known))}. The table below has the figures.
            </desc>
            <line class="grid" x1="0" x2="${WIDTH}" y1="${TOP}" y2="${TOP}" />
            <line class="grid" x1="0" x2="${WIDTH}" y1="${(TOP + FLOOR) / 2}" y2="${(TOP + FLOOR) / 2}" />
            <line class="axis" x1="0" x2="${WIDTH}" y1="${FLOOR}" y2="${FLOOR}" />
            ${series.map(({ look, points }) =>
              shape === 'bar'
                ? bars(points, { look, x, y, width: (WIDTH - 2 * LEFT) / count })
                : line(points, look, x, y),
            )}
            <text class="tick" x="2" y="${TOP + 10}">${format(top)}</text>
            ${first === undefined ? '' : tick(first.atMs, 2, 'start')}
            ${last === undefined ? '' : tick(last.atMs, WIDTH - 2, 'end')}
          </svg>`
    }
    ${known.length === 0 ? '' : table({ id, title }, series, format, tableRows)}
  </figure>`;
}

function tick(atMs: number, x: number, anchor: 'start' | 'end'): Html {
  const iso = new Date(atMs).toISOString();
  return html`<text class="tick" x="${x}" y="${HEIGHT - 4}" text-anchor="${anchor}" data-clock="${iso}">
    ${iso.slice(11, 16)} UTC
  </text>`;
}

type Scale = (value: number) => number;

function line(points: readonly Point[], look: string, x: Scale, y: Scale): Html {
  let path = '';
  const alone: Html[] = [];
  points.forEach(({ value }, index) => {
    if (value === null) return;
    const isKnown = (at: number): boolean => (points[at]?.value ?? null) !== null;
    const [at, up] = [round(x(index)), round(y(value))];
    path += `${isKnown(index - 1) ? 'L' : 'M'}${at} ${up}`;
    // A line needs two points.
    if (!isKnown(index - 1) && !isKnown(index + 1)) {
      alone.push(html`<circle class="${look}" cx="${at}" cy="${up}" r="2.5" />`);
    }
  });
  return html`<path class="line ${look}" d="${path}" />${alone}`;
}

interface Bars {
  readonly look: string;
  readonly x: Scale;
  readonly y: Scale;
  readonly width: number;
}

function bars(points: readonly Point[], { look, x, y, width }: Bars): Html {
  let path = '';
  points.forEach(({ value }, index) => {
    if (value === null || value <= 0) return;
    const at = Math.min(y(value), FLOOR - 1);
    path += `M${round(x(index) - width * 0.4)} ${FLOOR}V${round(at)}h${round(width * 0.8)}V${FLOOR}z`;
  });
  return html`<path class="bar ${look}" d="${path}" />`;
}

/** The known points, thinned to the largest of each group. */
function table(
  { id, title }: Pick<PlotOptions, 'id' | 'title'>,
  series: readonly Series[],
  format: (value: number) => string,
  rows: number,
): Html {
  const points = series[0]?.points ?? [];
  const size = Math.ceil(points.length / rows);
  const stretches = Array.from({ length: Math.ceil(points.length / size) }, (_, i) => i * size).toReversed();
  return html`<details class="figures" id="${id}-figures">
    <summary>In figures<span class="hidden">: ${title}</span></summary>
    <table>
      <thead>
        <tr>
          <th scope="col">From</th>
          ${series.map(({ name }) => html`<th scope="col" class="figure">${name}, at most</th>`)}
        </tr>
      </thead>
      <tbody>
        ${stretches.map(
          (from) =>
            html`<tr>
              <th scope="row">${instant(points[from]?.atMs ?? 0)}</th>
              ${series.map(
                (each) =>
                  html`<td class="figure">${largest(each.points.slice(from, from + size), format)}</td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </details>`;
}

function largest(points: readonly Point[], format: (value: number) => string): string {
  const known = points.flatMap(({ value }) => (value === null ? [] : [value]));
  return known.length === 0 ? '–' : format(Math.max(...known));
}

/** The next of 1, 2, 5, 10, 20, … */
export function niceCeiling(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return (([1, 2, 5, 10] as const).find((step) => step * power >= value) ?? 10) * power;
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
