/**
 * Plots as SVG, drawn here without any library; colours come from the style sheet. What is under the pointer, or chosen by the
 * arrow keys, is told by the script from the `data-` attributes; the table below has the figures for who has none.
 */
import { html } from 'hono/html';
import { instant } from './figures.ts';
import type { Html } from '../../web/html.ts';

interface Series {
  readonly name: string;
  /** Chooses its colour. */
  readonly look: 'a' | 'b' | 'c' | 'bad';
  /** One for each stretch of the time axis. Null: not known. */
  readonly values: readonly (number | null)[];
}

/** The time axis, which all plots of a page share. */
export interface Axis {
  /** When each stretch begins, epoch ms; all are equally long. */
  readonly starts: readonly number[];
  readonly stretchMs: number;
  /** Indexes of stretches in which no mirror ran. */
  readonly down: ReadonlySet<number>;
  /** What began when: restarts and runs. */
  readonly marks: readonly Mark[];
}

interface Mark {
  readonly atMs: number;
  readonly look: 'restart' | 'run';
  readonly words: string;
}

interface PlotOptions {
  /** Unique on the page. */
  readonly id: string;
  readonly title: string;
  /** Bars are stacked. */
  readonly shape: 'line' | 'bar';
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Shown beside the title. */
  readonly summary: string;
  /** The smallest upper end of the scale; 1 by default. */
  readonly leastTop?: number;
  /** A figure that is not to be crossed. */
  readonly ceiling?: { readonly value: number; readonly words: string } | null;
}

const WIDTH = 400;
const HEIGHT = 126;
/** Above the scale, where no line crosses it, stands its upper end. */
const TOP = 16;
const BOTTOM = 18;
const FLOOR = HEIGHT - BOTTOM;
/** Rows of the table with the same figures, about. */
const TABLE_ROWS = 24;

export function plot(axis: Axis, options: PlotOptions): Html {
  const { id, title, shape, series, format, summary, leastTop = 1, ceiling = null } = options;
  const count = axis.starts.length;
  const tops =
    shape === 'bar'
      ? axis.starts.map((_, at) => stackTop(series, at))
      : series.flatMap((each) => each.values);
  const known = tops.filter((value) => value !== null);
  const most = Math.max(0, ...known);
  const top = niceCeiling(Math.max(leastTop, most, ceiling?.value ?? 0));
  const scales: Scales = {
    x: (at) => ((at + 0.5) / count) * WIDTH,
    y: (value) => FLOOR - (value / top) * (FLOOR - TOP),
    width: WIDTH / count,
  };
  return html`<figure class="plot" aria-labelledby="${id}-name">
    <figcaption>
      <b id="${id}-name">${title}</b> <span class="quiet">${summary}</span>
      ${series.length > 1 ? series.map(({ name, look }) => html`<span class="key ${look}">${name}</span>`) : ''}
    </figcaption>
    ${
      known.length === 0
        ? html`<p class="empty">Not known yet.</p>`
        : html`<svg
              id="${id}-plot"
              viewBox="0 0 ${WIDTH} ${HEIGHT}"
              role="img"
              tabindex="0"
              aria-labelledby="${id}-title ${id}-desc"
              data-from="${axis.starts[0] ?? 0}"
              data-step="${axis.stretchMs}"
              data-names="${series.map(({ name }) => name).join('|')}"
              data-figures="${figuresOf(series, count, format)}"
              data-notes="${notesOf(axis)}"
            >
              <title id="${id}-title">${title}</title>
              <desc id="${id}-desc">
                ${summary}; at most ${format(most)}. The arrow keys tell each figure, and the table below has
                them.
              </desc>
              ${downBands(axis, scales)}
              <line class="grid" x1="0" x2="${WIDTH}" y1="${TOP}" y2="${TOP}" />
              <line class="grid" x1="0" x2="${WIDTH}" y1="${(TOP + FLOOR) / 2}" y2="${(TOP + FLOOR) / 2}" />
              <line class="axis" x1="0" x2="${WIDTH}" y1="${FLOOR}" y2="${FLOOR}" />
              ${marksOf(axis)}
              ${shape === 'bar' ? bars(series, scales) : series.map((each) => line(each, scales))}
              ${
                ceiling === null
                  ? ''
                  : html`<line
                      class="ceiling"
                      x1="0"
                      x2="${WIDTH}"
                      y1="${round(scales.y(ceiling.value))}"
                      y2="${round(scales.y(ceiling.value))}"
                    />`
              }
              <line class="cursor" x1="0" x2="0" y1="${TOP}" y2="${FLOOR}" />
              <text class="tick" x="0" y="${TOP - 4}">${format(top)}</text>
              ${tick(axis.starts[0], 0, 'start', axis)}
              ${tick(axis.starts[count / 2], WIDTH / 2, 'middle', axis)}
              <text class="tick" x="${WIDTH}" y="${HEIGHT - 4}" text-anchor="end">now</text>
            </svg>
            <output class="told" hidden></output>`
    }
    ${known.length === 0 ? '' : table(axis, options)}
  </figure>`;
}

function stackTop(series: readonly Series[], at: number): number | null {
  const known = series.flatMap(({ values }) => values[at] ?? []);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

/** `12|0;13|0;…`: the figures of each stretch, in the order of the series. */
function figuresOf(series: readonly Series[], count: number, format: PlotOptions['format']): string {
  const words = Array.from({ length: count }, (_, at) =>
    series.map(({ values }) => figureText(values[at] ?? null, format)).join('|'),
  );
  return words.join(';');
}

/** `3|the mirror started;7|…`: what there is to say of single stretches. */
function notesOf({ starts, stretchMs, down, marks }: Axis): string {
  const notes = [...down].map((at) => `${at}|the mirror did not run`);
  for (const { atMs, words } of marks) {
    const at = Math.floor((atMs - (starts[0] ?? 0)) / stretchMs);
    if (at >= 0 && at < starts.length) notes.push(`${at}|${words}`);
  }
  return notes.join(';');
}

function figureText(value: number | null, format: (value: number) => string): string {
  return value === null ? '–' : format(value);
}

interface Scales {
  /** The middle of a stretch. */
  readonly x: (at: number) => number;
  readonly y: (value: number) => number;
  readonly width: number;
}

function downBands({ starts, down }: Axis, { width }: Scales): Html[] {
  const bands: Html[] = [];
  for (let at = 0; at < starts.length; at += 1) {
    if (!down.has(at)) continue;
    const from = at;
    while (down.has(at + 1)) at += 1;
    const [x, wide] = [round(from * width), round((at - from + 1) * width)];
    bands.push(html`<rect class="down" x="${x}" width="${wide}" y="${TOP}" height="${FLOOR - TOP}" />`);
  }
  return bands;
}

function marksOf({ starts, stretchMs, marks }: Axis): Html[] {
  const [firstMs = 0] = starts;
  const lengthMs = starts.length * stretchMs;
  return marks
    .filter(({ atMs }) => atMs >= firstMs && atMs <= firstMs + lengthMs)
    .map(({ atMs, look }) => {
      const x = round(((atMs - firstMs) / lengthMs) * WIDTH);
      return html`<line class="mark ${look}" x1="${x}" x2="${x}" y1="${TOP}" y2="${FLOOR}" />`;
    });
}

function tick(
  atMs: number | undefined,
  x: number,
  anchor: 'start' | 'middle',
  { starts, stretchMs }: Axis,
): Html | string {
  if (atMs === undefined) return '';
  const iso = new Date(atMs).toISOString();
  const isDays = starts.length * stretchMs > DAY_MS;
  return html`<text
    class="tick"
    x="${x}"
    y="${HEIGHT - 4}"
    text-anchor="${anchor}"
    ${isDays ? 'data-zone' : 'data-clock'}="${iso}"
  >
    ${isDays ? `${iso.slice(0, 10)} ${iso.slice(11, 16)}` : iso.slice(11, 16)} UTC
  </text>`;
}

const DAY_MS = 24 * 60 * 60_000;

function line({ look, values }: Series, { x, y }: Scales): Html {
  let path = '';
  const alone: Html[] = [];
  values.forEach((value, index) => {
    if (value === null) return;
    const isKnown = (at: number): boolean => (values[at] ?? null) !== null;
    const [at, up] = [round(x(index)), round(y(value))];
    path += `${isKnown(index - 1) ? 'L' : 'M'}${at} ${up}`;
    // A line needs two points.
    if (!isKnown(index - 1) && !isKnown(index + 1)) {
      alone.push(html`<circle class="${look}" cx="${at}" cy="${up}" r="2.5" />`);
    }
  });
  return html`<path class="line ${look}" d="${path}" />${alone}`;
}

function bars(series: readonly Series[], { x, y, width }: Scales): Html[] {
  const below: number[] = [];
  return series.map(({ look, values }) => {
    let path = '';
    values.forEach((value, index) => {
      if (value === null || value <= 0) return;
      const from = below[index] ?? 0;
      below[index] = from + value;
      // However small, it is seen.
      const [foot, head] = [y(from), Math.min(y(from + value), y(from) - 1)];
      path += `M${round(x(index) - width * 0.4)} ${round(foot)}V${round(head)}h${round(width * 0.8)}V${round(foot)}z`;
    });
    return html`<path class="bar ${look}" d="${path}" />`;
  });
}

/** Thinned to the largest of each group of stretches. */
function table({ starts }: Axis, { id, title, series, format }: PlotOptions): Html {
  const size = Math.ceil(starts.length / TABLE_ROWS);
  const groups = Array.from({ length: Math.ceil(starts.length / size) }, (_, i) => i * size).toReversed();
  const largest = (values: Series['values'], from: number): number | null => {
    const known = values.slice(from, from + size).filter((value) => value !== null);
    return known.length === 0 ? null : Math.max(...known);
  };
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
        ${groups.map(
          (from) =>
            html`<tr>
              <th scope="row">${instant(starts[from] ?? 0)}</th>
              ${series.map(
                ({ values }) => html`<td class="figure">${figureText(largest(values, from), format)}</td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </details>`;
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
