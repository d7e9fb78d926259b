/** Plots of a time that the reader chooses, drawn by the page's script, and the table behind them. */
import { html, raw } from 'hono/html';
import type { Html } from '../../web/html.ts';
import { MEASURES, type Measure, type Minute } from '../state/timeline.ts';
import { instant, millis, numeric, quantity, table } from './parts.ts';

const SPANS = {
  hour: { title: '1 hour', minutes: 60, size: 1 },
  hours: { title: '6 hours', minutes: 360, size: 5 },
  day: { title: '1 day', minutes: 1_440, size: 10 },
} as const;

export type Span = keyof typeof SPANS;

/** @param text from the address; anything unknown is the last hour. */
export function spanOf(text: string | undefined): Span {
  return text !== undefined && Object.hasOwn(SPANS, text) ? (text as Span) : 'hour';
}

interface Curve {
  readonly label: string;
  readonly measure: Measure;
  /** Divisor of a minute's sum: 1 shows rates per minute, 60 per second. */
  readonly rate?: 1 | 60;
  readonly look?: string;
}

interface Summed {
  readonly total: (measure: Measure) => number;
  readonly peak: (measure: Measure) => number;
}

interface Plot {
  readonly title: string;
  readonly isBar: boolean;
  readonly curves: readonly Curve[];
  readonly summary: (of: Summed) => string;
}

const LOST = 'del-color';

const PLOTS: readonly Plot[] = [
  {
    title: 'Deliveries per minute',
    isBar: true,
    curves: [
      { label: 'committed', measure: 'deliveries', rate: 1 },
      { label: 'refused', measure: 'refused', rate: 1, look: LOST },
    ],
    summary: ({ total }) =>
      `${quantity(total('deliveries'))} committed, ${quantity(total('refused'))} refused`,
  },
  {
    title: 'Slowest answer to a delivery',
    isBar: false,
    curves: [{ label: 'ms', measure: 'slowestMs' }],
    summary: ({ peak }) => `at most ${millis(peak('slowestMs'))}`,
  },
  {
    title: 'Deliveries proven lost',
    isBar: true,
    curves: [{ label: 'lost', measure: 'lost', look: LOST }],
    summary: ({ total }) => quantity(total('lost')),
  },
  {
    title: 'Requests to the store',
    isBar: false,
    curves: [{ label: 'per second', measure: 'requests', rate: 60 }],
    summary: ({ total }) => `${quantity(total('requests'))} in all`,
  },
  {
    title: 'Suspect quantities',
    isBar: false,
    curves: [{ label: 'quantities', measure: 'suspects' }],
    summary: ({ peak }) => `at most ${quantity(peak('suspects'))}`,
  },
  {
    title: 'Pending reads',
    isBar: false,
    curves: [{ label: 'reads', measure: 'pendingReads' }],
    summary: ({ peak }) => `at most ${quantity(peak('pendingReads'))}`,
  },
];

interface Point {
  readonly atMs: number;
  /** Those in which the mirror ran. */
  readonly minutes: readonly Minute[];
}

/** @param lastDay oldest first; null if the mirror did not run. */
export function plotsView(lastDay: readonly (Minute | null)[], endMs: number, span: Span): Html {
  const { minutes: length, size } = SPANS[span];
  const minutes = lastDay.slice(-length);
  const firstMs = endMs - minutes.length * 60_000;
  const points = Array.from({ length: Math.ceil(minutes.length / size) }, (_, at) => ({
    atMs: firstMs + at * size * 60_000,
    minutes: minutes.slice(at * size, (at + 1) * size).filter((minute) => minute !== null),
  }));
  const all = points.flatMap((point) => point.minutes);
  const summed: Summed = {
    total: (measure) => joined(all, measure) ?? 0,
    peak: (measure) => Math.max(0, ...all.map((minute) => minute[measure] ?? 0)),
  };
  const marks = points.flatMap((point) => marksOf(point).map((name) => ({ time: point.atMs / 1_000, name })));
  const shared = { times: points.map(({ atMs }) => atMs / 1_000), marks };
  return html`<article aria-labelledby="plots-title">
    <header>
      <h2 id="plots-title">Activity</h2>
      <nav class="lists" aria-label="Length of the plots">
        ${Object.entries(SPANS).map(
          ([name, each]) =>
            html`<a href="/?span=${name}" ${name === span ? raw('aria-current="page"') : ''}
              >${each.title}</a
            >`,
        )}
      </nav>
    </header>
    <div class="plots">${PLOTS.map((plot) => plotView(plot, points, { summed, shared }))}</div>
    ${
      marks.length === 0
        ? ''
        : html`<p class="quiet">
            Lines: the mirror <span class="start">started</span>, or began a
            <span class="full-read">full read</span>. Gaps: it did not run.
          </p>`
    }
    ${pointsView(points)}
  </article>`;
}

interface Drawing {
  readonly summed: Summed;
  /** Common to all plots: the times and marks. */
  readonly shared: object;
}

/** Without anything to plot, there are no axes. */
function plotView({ title, isBar, curves, summary }: Plot, points: readonly Point[], drawing: Drawing): Html {
  const { summed, shared } = drawing;
  const series = curves.map((curve) => ({
    label: curve.label,
    look: curve.look ?? 'primary',
    values: points.map((point) => valueOf(point, curve)),
  }));
  const isEmpty = series.every(({ values }) => values.every((value) => value === null || value === 0));
  const data = isEmpty ? '' : html`data-plot="${JSON.stringify({ isBar, series, ...shared })}"`;
  return html`<figure ${data}>
    <figcaption><b>${title}</b> <span class="quiet">${summary(summed)}</span></figcaption>
  </figure>`;
}

/** Newest first. */
function pointsView(points: readonly Point[]): Html {
  const columns = PLOTS.flatMap(({ title, curves }) =>
    curves.map((curve) => ({ curve, name: `${title}, ${curve.label}` })),
  );
  const rows = points
    .filter(({ minutes }) => minutes.length > 0)
    .toReversed()
    .map((point) => ({
      id: `point-${point.atMs}`,
      cells: [
        instant(point.atMs),
        ...columns.map(({ curve }) => quantity(valueOf(point, curve))),
        marksOf(point).join(', '),
      ],
    }));
  return html`<details id="plots-table">
    <summary>As a table</summary>
    ${table(['From', ...columns.map(({ name }) => numeric(name)), 'Marks'], rows, 'Nothing is recorded yet.')}
  </details>`;
}

/** Names of the lines that the script draws. */
function marksOf({ minutes }: Point): ('start' | 'full read')[] {
  const marks: ('start' | 'full read')[] = [];
  if (minutes.some(({ starts = 0 }) => starts > 0)) marks.push('start');
  if (minutes.some(({ fullReads = 0 }) => fullReads > 0)) marks.push('full read');
  return marks;
}

function valueOf({ minutes }: Point, { measure, rate }: Curve): number | null {
  const value = joined(minutes, measure);
  if (value === null) return null;
  return Math.round((value / (rate === undefined ? 1 : rate * minutes.length)) * 100) / 100;
}

/** @returns null if it is unknown. */
function joined(minutes: readonly Minute[], measure: Measure): number | null {
  const known = minutes.map((minute) => minute[measure]).filter((value) => value !== undefined);
  if (known.length === 0) return minutes.length > 0 && MEASURES[measure] === 'sum' ? 0 : null;
  return MEASURES[measure] === 'sum' ? known.reduce((sum, value) => sum + value, 0) : Math.max(...known);
}
