/** Six plots of the last day, drawn as SVG; colours come from the style sheet. */
import { html } from 'hono/html';
import { FIGURES, type Figure, type Minute } from '../state/timeline.ts';
import { millis, quantity } from './figures.ts';
import type { Html } from '../../web/html.ts';

interface Plots {
  /** The last day, oldest first. */
  readonly minutes: readonly Minute[];
  /** The present values. */
  readonly present: { readonly suspects: number; readonly pendingReads: number };
}

interface Series {
  readonly name: string;
  /** Chooses its colour. */
  readonly look: 'a' | 'bad';
  /** One for each stretch of the time axis; null: not known. */
  readonly values: readonly (number | null)[];
}

/** One stretch of the time axis. */
type Stretch = readonly Minute[];

interface Plot {
  readonly id: string;
  readonly title: string;
  readonly shape: 'line' | 'bar';
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly summary: string;
}

/** Minutes drawn as one. */
const SIZE = 10;
const WIDTH = 400;
const HEIGHT = 126;
/** The upper end of the scale is written above the plot. */
const TOP = 16;
const FLOOR = HEIGHT - 18;

export function plotsView({ minutes, present }: Plots): Html {
  const stretches = Array.from({ length: Math.ceil(minutes.length / SIZE) }, (_, i) =>
    minutes.slice(i * SIZE, (i + 1) * SIZE),
  );
  const series = (figure: Figure, over = 1, name = '', look: Series['look'] = 'a'): Series => ({
    name,
    look,
    values: stretches.map((stretch) => joined(stretch, figure, over)),
  });
  const total = (figure: Figure): string => quantity(sum(minutes.map((minute) => minute[figure] ?? 0)));
  const most = (figure: Figure): number => Math.max(0, ...minutes.map((minute) => minute[figure] ?? 0));
  const nowAndMost = (figure: 'suspects' | 'pendingReads'): string =>
    `now ${quantity(present[figure])}, at most ${quantity(Math.max(present[figure], most(figure)))}`;
  const plots: readonly Plot[] = [
    {
      id: 'deliveries',
      title: 'Deliveries per minute',
      shape: 'bar',
      series: [series('deliveries', SIZE, 'committed'), series('refused', SIZE, 'refused', 'bad')],
      format: rate,
      summary: `${total('deliveries')} committed, ${total('refused')} refused`,
    },
    {
      id: 'answers',
      title: 'Time to answer 99 % of the deliveries',
      shape: 'line',
      series: [series('p99Ms')],
      format: millis,
      summary: `at most ${millis(most('p99Ms'))} in any minute`,
    },
    {
      id: 'losses',
      title: 'Deliveries proven lost, per 10 minutes',
      shape: 'bar',
      series: [series('lost', 1, '', 'bad')],
      format: quantity,
      summary: total('lost'),
    },
    {
      id: 'requests',
      title: 'Requests to the store per second',
      shape: 'line',
      series: [series('requests', SIZE * 60)],
      format: rate,
      summary: `${total('requests')} in all`,
    },
    {
      id: 'suspects',
      title: 'Suspect levels',
      shape: 'line',
      series: [series('suspects')],
      format: quantity,
      summary: nowAndMost('suspects'),
    },
    {
      id: 'pending',
      title: 'Pending reads',
      shape: 'line',
      series: [series('pendingReads')],
      format: quantity,
      summary: nowAndMost('pendingReads'),
    },
  ];
  return html`<section id="plots" aria-labelledby="plots-title">
    <header>
      <h2 id="plots-title">The last day</h2>
      <span class="keys quiet"><span class="key down">the mirror did not run</span></span>
    </header>
    <div id="plots-day" class="plots" data-live>${plots.map((each) => plotView(stretches, each))}</div>
  </section>`;
}

function joined(stretch: Stretch, figure: Figure, over: number): number | null {
  const known = stretch.map((minute) => minute[figure]).filter((value) => value !== null);
  if (known.length === 0) return null;
  return (FIGURES[figure] === 'sum' ? sum(known) : Math.max(...known)) / over;
}

function plotView(stretches: readonly Stretch[], { id, title, shape, series, format, summary }: Plot): Html {
  const width = WIDTH / stretches.length;
  const stacked = stretches.map((_, at) => sum(series.map(({ values }) => values[at] ?? 0)));
  const top = niceCeiling(Math.max(0, ...stacked));
  const y = (value: number): number => round(FLOOR - (value / top) * (FLOOR - TOP));
  return html`<figure class="plot" aria-labelledby="${id}-name">
    <figcaption>
      <b id="${id}-name">${title}</b> <span class="quiet">${summary}</span>
      ${series.length > 1 ? series.map(({ name, look }) => html`<span class="key ${look}">${name}</span>`) : ''}
    </figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}: ${summary}">
      ${downBands(stretches, width)}
      <line class="grid" x1="0" x2="${WIDTH}" y1="${TOP}" y2="${TOP}" />
      <line class="axis" x1="0" x2="${WIDTH}" y1="${FLOOR}" y2="${FLOOR}" />
      ${shape === 'bar' ? bars(series, width, y) : series.map((each) => line(each, width, y))}
      <text class="tick" x="0" y="${TOP - 4}">${format(top)}</text>
      ${tick(stretches[0]?.[0]?.atMs, 0, 'start')}
      ${tick(stretches[stretches.length / 2]?.[0]?.atMs, WIDTH / 2, 'middle')}
      <text class="tick" x="${WIDTH}" y="${HEIGHT - 4}" text-anchor="end">now</text>
    </svg>
  </figure>`;
}

/** When no mirror ran. What was before all that is known is no downtime. */
function downBands(stretches: readonly Stretch[], width: number): Html[] {
  const isKnown = stretches.map((stretch) => stretch.some((minute) => minute.isKnown));
  const first = isKnown.indexOf(true);
  return isKnown.flatMap((known, at) =>
    known || first === -1 || at < first
      ? []
      : [
          html`<rect
            class="down"
            x="${round(at * width)}"
            width="${round(width)}"
            y="${TOP}"
            height="${FLOOR - TOP}"
          />`,
        ],
  );
}

function line({ look, values }: Series, width: number, y: (value: number) => number): Html {
  const path = values.map((value, at) => {
    if (value === null) return '';
    const isNext = (values[at - 1] ?? null) !== null;
    // A single point is drawn as a short line.
    return `${isNext ? 'L' : 'M'}${round((at + 0.5) * width)} ${y(value)}${isNext ? '' : 'h1'}`;
  });
  return html`<path class="line ${look}" d="${path.join('')}" />`;
}

/** Stacked. */
function bars(series: readonly Series[], width: number, y: (value: number) => number): Html[] {
  const below: number[] = [];
  return series.map(({ look, values }) => {
    const path = values.map((value, at) => {
      if (value === null || value <= 0) return '';
      const from = below[at] ?? 0;
      below[at] = from + value;
      // However small, it is visible.
      const head = Math.min(y(from + value), y(from) - 1);
      return `M${round((at + 0.1) * width)} ${y(from)}V${head}h${round(width * 0.8)}V${y(from)}z`;
    });
    return html`<path class="bar ${look}" d="${path.join('')}" />`;
  });
}

function tick(atMs: number | undefined, x: number, anchor: 'start' | 'middle'): Html | string {
  if (atMs === undefined) return '';
  const iso = new Date(atMs).toISOString();
  return html`<text class="tick" x="${x}" y="${HEIGHT - 4}" text-anchor="${anchor}" data-clock="${iso}">
    ${iso.slice(11, 16)} UTC
  </text>`;
}

/** The next of 1, 2, 5, 10, 20, … */
function niceCeiling(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return (([1, 2, 5, 10] as const).find((step) => step * power >= value) ?? 10) * power;
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
const rate = (value: number): string => quantity(Math.round(value * 10) / 10);
const round = (value: number): number => Math.round(value * 10) / 10;
