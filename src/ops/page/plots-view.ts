/** Data for six plots of the last day, drawn by the page's script. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import { MEASURES, type Measure, type Minute } from '../state/timeline.ts';
import { millis, quantity } from './parts.ts';

interface Series {
  readonly label: string;
  readonly measure: Measure;
  /** 1: sums become rates per minute; 60: per second. */
  readonly rate?: 1 | 60;
  readonly look?: string;
}

const SIZE = 10;
const LOST = 'del-color';

/** @param minutes oldest first; null if the mirror did not run. */
export function plotsView(minutes: readonly (Minute | null)[], endMs: number): Html {
  const points = Array.from({ length: Math.ceil(minutes.length / SIZE) }, (_, at) =>
    minutes.slice(at * SIZE, (at + 1) * SIZE).filter((minute) => minute !== null),
  );
  const firstMs = endMs - minutes.length * 60_000;
  const times = points.map((_, at) => (firstMs + at * SIZE * 60_000) / 1_000);
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
      <h2 id="plots-title">The last day</h2>
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
        { label: 'in 10 minutes', measure: 'lost', look: LOST },
      ])}
      ${plot('Requests to the store', `${total('requests')} in all`, false, [
        { label: 'per second', measure: 'requests', rate: 60 },
      ])}
      ${plot('Suspect levels', `at most ${quantity(peak('suspects'))}`, false, [
        { label: 'levels', measure: 'suspects' },
      ])}
      ${plot('Pending reads', `at most ${quantity(peak('pendingReads'))}`, false, [
        { label: 'reads', measure: 'pendingReads' },
      ])}
    </div>
  </article>`;
}

function joined(minutes: readonly Minute[], measure: Measure): number | null {
  const known = minutes.map((minute) => minute[measure]).filter((value) => value !== undefined);
  if (known.length === 0) return minutes.length > 0 && MEASURES[measure] === 'sum' ? 0 : null;
  return MEASURES[measure] === 'sum' ? known.reduce((sum, value) => sum + value, 0) : Math.max(...known);
}

const scaled = (value: number | null, by: number): number | null =>
  value === null ? null : Math.round((value / by) * 100) / 100;
