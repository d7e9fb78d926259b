/** Six plots, drawn by the page's script, and the table behind them. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import { MEASURES, type Measure, type Minute } from '../state/timeline.ts';
import { instant, millis, numeric, quantity, table } from './parts.ts';

interface Series {
  readonly label: string;
  readonly measure: Measure;
  /** Divisor of a minute's sum: 1 shows rates per minute, 60 per second. */
  readonly rate?: 1 | 60;
  readonly look?: string;
}

const LOST = 'del-color';

interface Span {
  readonly title: string;
  readonly minutes: number;
  /** Minutes that one point of a plot joins. */
  readonly size: number;
}

/** The shortest that has everything is shown, so that the plots of a new mirror are not empty. */
const SPANS = [
  { title: 'The last hour', minutes: 60, size: 1 },
  { title: 'The last 6 hours', minutes: 360, size: 5 },
] as const satisfies readonly Span[];
const DAY: Span = { title: 'The last day', minutes: 1_440, size: 10 };

/** @param lastDay oldest first; null if the mirror did not run. */
export function plotsView(lastDay: readonly (Minute | null)[], endMs: number): Html {
  const first = lastDay.findIndex((minute) => minute !== null);
  const known = first === -1 ? 0 : lastDay.length - first;
  const { title: heading, size, ...span } = SPANS.find((each) => known <= each.minutes) ?? DAY;
  const minutes = lastDay.slice(-span.minutes);
  const points = Array.from({ length: Math.ceil(minutes.length / size) }, (_, at) =>
    minutes.slice(at * size, (at + 1) * size).filter((minute) => minute !== null),
  );
  const firstMs = endMs - minutes.length * 60_000;
  const times = points.map((_, at) => (firstMs + at * size * 60_000) / 1_000);
  const all = points.flat();
  const total = (measure: Measure): string => quantity(joined(all, measure) ?? 0);
  const peak = (measure: Measure): number => Math.max(0, ...all.map((minute) => minute[measure] ?? 0));
  const plot = (title: string, summary: string, isBar: boolean, series: readonly Series[]): Html => {
    const drawn = series.map(({ label, measure, rate, look = 'primary' }) => ({
      label,
      look,
      values: points.map((point) =>
        scaled(joined(point, measure), rate === undefined ? 1 : rate * point.length),
      ),
    }));
    return html`<figure data-plot="${JSON.stringify({ isBar, times, series: drawn })}">
      <figcaption><b>${title}</b> <span class="quiet">${summary}</span></figcaption>
    </figure>`;
  };
  return html`<article aria-labelledby="plots-title">
    <header>
      <h2 id="plots-title">${heading}</h2>
      <span class="quiet">gaps: the mirror did not run</span>
    </header>
    <div class="plots">
      ${plot('Deliveries per minute', `${total('deliveries')} committed, ${total('refused')} refused`, true, [
        { label: 'committed', measure: 'deliveries', rate: 1 },
        { label: 'refused', measure: 'refused', rate: 1, look: LOST },
      ])}
      ${plot('Slowest answer to a delivery', `at most ${millis(peak('slowestMs'))}`, false, [
        { label: 'ms', measure: 'slowestMs' },
      ])}
      ${plot('Deliveries proven lost', total('lost'), true, [
        { label: size === 1 ? 'per minute' : `in ${size} minutes`, measure: 'lost', look: LOST },
      ])}
      ${plot('Requests to the store', `${total('requests')} in all`, false, [
        { label: 'per second', measure: 'requests', rate: 60 },
      ])}
      ${plot('Suspect quantities', `at most ${quantity(peak('suspects'))}`, false, [
        { label: 'quantities', measure: 'suspects' },
      ])}
      ${plot('Pending reads', `at most ${quantity(peak('pendingReads'))}`, false, [
        { label: 'reads', measure: 'pendingReads' },
      ])}
    </div>
    ${pointsView(points, times)}
  </article>`;
}

/** Newest first. */
function pointsView(points: readonly (readonly Minute[])[], times: readonly number[]): Html {
  const value = (point: readonly Minute[], measure: Measure, rate?: 1 | 60): string =>
    quantity(scaled(joined(point, measure), rate === undefined ? 1 : rate * point.length));
  const rows = points
    .map((point, at) => ({ point, atMs: (times[at] ?? 0) * 1_000 }))
    .filter(({ point }) => point.length > 0)
    .toReversed()
    .map(({ point, atMs }) => ({
      id: `point-${atMs}`,
      cells: [
        instant(atMs),
        value(point, 'deliveries', 1),
        value(point, 'refused', 1),
        value(point, 'slowestMs'),
        value(point, 'lost'),
        value(point, 'requests', 60),
        value(point, 'suspects'),
        value(point, 'pendingReads'),
      ],
    }));
  return html`<details id="plots-table">
    <summary>As a table</summary>
    ${table(
      [
        'From',
        numeric('Committed per minute'),
        numeric('Refused per minute'),
        numeric('Slowest answer, ms'),
        numeric('Proven lost'),
        numeric('Requests per second'),
        numeric('Suspect quantities'),
        numeric('Pending reads'),
      ],
      rows,
      'Nothing is recorded yet.',
    )}
  </details>`;
}

function joined(minutes: readonly Minute[], measure: Measure): number | null {
  const known = minutes.map((minute) => minute[measure]).filter((value) => value !== undefined);
  if (known.length === 0) return minutes.length > 0 && MEASURES[measure] === 'sum' ? 0 : null;
  return MEASURES[measure] === 'sum' ? known.reduce((sum, value) => sum + value, 0) : Math.max(...known);
}

const scaled = (value: number | null, by: number): number | null =>
  value === null ? null : Math.round((value / by) * 100) / 100;
