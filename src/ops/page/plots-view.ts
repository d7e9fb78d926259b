/** How the mirror came along: the last 15 minutes, hour, day or week, with downtime, restarts and runs. */
import { html, raw } from 'hono/html';
import type { Run } from '../../core/runs.ts';
import { FIGURES, KEPT_MINUTES, type Figure, type Minute } from '../state/timeline.ts';
import { runName } from '../shared/words.ts';
import { duration, millis, quantity } from './figures.ts';
import type { Html } from '../../web/html.ts';
import { plot, type Axis } from './plot.ts';

const MINUTE_MS = 60_000;

/** How many minutes each shows, and how many of them are drawn as one. */
export const SPANS = {
  quarter: { minutes: 15, size: 1, name: '15 min', words: 'last 15 minutes', per: 'minute' },
  hour: { minutes: 60, size: 1, name: '1 h', words: 'last hour', per: 'minute' },
  day: { minutes: 24 * 60, size: 10, name: '1 d', words: 'last day', per: '10 minutes' },
  week: { minutes: KEPT_MINUTES, size: 60, name: '7 d', words: 'last week', per: 'hour' },
} as const;
export type Span = keyof typeof SPANS;

export function spanOf(text: string | undefined): Span {
  return text !== undefined && Object.hasOwn(SPANS, text) ? (text as Span) : 'hour';
}

interface Plots {
  readonly span: Span;
  /** All of the time span, oldest first. */
  readonly minutes: readonly Minute[];
  /** The latest. */
  readonly runs: readonly Run[];
  /** The ceiling of requests to the store, `SERVICE_MAX_RPS`; null: not known. */
  readonly maxRps: number | null;
  /** The present figures. */
  readonly present: Readonly<Record<'lagMs' | 'suspects' | 'openGaps' | 'pendingReads', number>>;
}

export function plotsView({ span, minutes, runs, maxRps, present }: Plots): Html {
  const { size, words, per } = SPANS[span];
  const stretches = Array.from({ length: Math.ceil(minutes.length / size) }, (_, i) =>
    minutes.slice(i * size, (i + 1) * size),
  );
  const axis = axisOf(stretches, size * MINUTE_MS, runs);
  const joined = (figure: Figure): (number | null)[] =>
    stretches.map((stretch) => {
      const known = stretch.map((minute) => minute[figure]).filter((value) => value !== null);
      if (known.length === 0) return null;
      return FIGURES[figure] === 'sum' ? sum(known) : Math.max(...known);
    });
  const each = (figure: Figure, over: number): (number | null)[] =>
    joined(figure).map((value) => value && value / over);
  const total = (figure: Figure): number => sum(minutes.map((minute) => minute[figure] ?? 0));
  const most = (figure: Figure): number | null => {
    const known = minutes.map((minute) => minute[figure]).filter((value) => value !== null);
    return known.length === 0 ? null : Math.max(...known);
  };
  const gauge = (id: string, title: string, figure: keyof Plots['present']): Html =>
    plot(axis, {
      id,
      title,
      shape: 'line',
      series: [{ name: title.toLowerCase(), look: 'a', values: joined(figure) }],
      format: figure === 'lagMs' ? duration : quantity,
      summary: summaryOf(present[figure], most(figure), figure === 'lagMs' ? duration : quantity),
      leastTop: figure === 'lagMs' ? 10_000 : 1,
    });
  const spread = (
    id: string,
    title: string,
    [half, nearly]: readonly [Figure, Figure],
    verb: string,
  ): Html => {
    const slowest = most(nearly);
    const format = id === 'answers' ? millis : duration;
    return plot(axis, {
      id,
      title,
      shape: 'line',
      series: [
        { name: `half ${verb}`, look: 'a', values: joined(half) },
        { name: `99 % ${verb}`, look: 'b', values: joined(nearly) },
      ],
      format,
      summary: slowest === null ? 'none yet' : `99 % within ${format(slowest)} in every minute`,
    });
  };
  return html`<section id="plots" aria-labelledby="plots-title">
    <header>
      <h2 id="plots-title">The ${words}</h2>
      <nav class="tabs" aria-label="Time span">
        ${(Object.keys(SPANS) as Span[]).map(
          (name) =>
            html`<a
              href="${name === 'hour' ? '/' : `/?span=${name}`}"
              ${name === span ? raw('aria-current="true"') : ''}
              >${SPANS[name].name}</a
            >`,
        )}
      </nav>
      <span class="keys quiet">
        <span class="key down">the mirror did not run</span> <span class="key restart">restart</span>
        <span class="key run">run</span>
      </span>
    </header>
    <div id="plots-${span}" class="plots" data-live>
      ${plot(axis, {
        id: 'deliveries',
        title: 'Deliveries per minute',
        shape: 'bar',
        series: [
          { name: 'committed', look: 'a', values: each('deliveries', size) },
          { name: 'refused', look: 'bad', values: each('refused', size) },
        ],
        format: rate,
        summary: `${quantity(total('deliveries'))} committed, ${quantity(total('refused'))} refused in the ${words}`,
      })}
      ${spread('answers', 'Time to answer', ['medianMs', 'p99Ms'], 'answered within')}
      ${spread('arrival', 'From change to arrival', ['arrivalMedianMs', 'arrivalP99Ms'], 'arrived within')}
      ${plot(axis, {
        id: 'losses',
        title: `Losses proven, per ${per}`,
        shape: 'bar',
        series: [
          { name: 'in a gap', look: 'a', values: joined('lostInGap') },
          { name: 'the last webhook', look: 'b', values: joined('lostTail') },
          { name: 'during downtime', look: 'c', values: joined('lostInDowntime') },
        ],
        format: quantity,
        summary: `${quantity(total('lostInGap') + total('lostTail') + total('lostInDowntime'))} in the ${words}`,
      })}
      ${spread('repair', 'Time to repair', ['repairMedianMs', 'repairP99Ms'], 'repaired within')}
      ${plot(axis, {
        id: 'requests',
        title: 'Requests to the store per second',
        shape: 'line',
        series: [{ name: 'requests per second', look: 'a', values: each('requests', size * 60) }],
        format: rate,
        summary:
          maxRps === null
            ? `${quantity(total('requests'))} in the ${words}`
            : `${quantity(total('requests'))} in the ${words}; the ceiling is ${quantity(maxRps)}`,
        ceiling: maxRps === null ? null : { value: maxRps, words: `ceiling: ${quantity(maxRps)}` },
      })}
      ${plot(axis, {
        id: 'corrections',
        title: `Read again, per ${per}`,
        shape: 'line',
        series: [
          { name: 'requests settled', look: 'a', values: joined('repaired') },
          { name: 'figures corrected', look: 'b', values: joined('corrected') },
        ],
        format: quantity,
        summary: `${quantity(total('repaired'))} settled, ${quantity(total('corrected'))} corrected in the ${words}`,
      })}
      ${gauge('lag', 'Age of the oldest re-read request', 'lagMs')}
      ${gauge('suspects', 'Suspect levels', 'suspects')} ${gauge('gaps', 'Open gaps', 'openGaps')}
      ${gauge('pending', 'Pending reads', 'pendingReads')}
    </div>
  </section>`;
}

function axisOf(stretches: readonly (readonly Minute[])[], stretchMs: number, runs: readonly Run[]): Axis {
  const firstKnown = stretches.findIndex((stretch) => stretch.some(({ isKnown }) => isKnown));
  const down = new Set<number>();
  stretches.forEach((stretch, at) => {
    // What was before all that is known is no downtime.
    if (firstKnown !== -1 && at > firstKnown && !stretch.some(({ isKnown }) => isKnown)) down.add(at);
  });
  const restarts = stretches.flat().filter(({ started }) => started !== null && started > 0);
  return {
    starts: stretches.map(([first]) => first?.atMs ?? 0),
    stretchMs,
    down,
    marks: [
      ...restarts.map(({ atMs }) => ({ atMs, look: 'restart' as const, words: 'the mirror started' })),
      ...runs.map(({ startedAtMs, id, kind }) => ({
        atMs: startedAtMs,
        look: 'run' as const,
        words: `run ${id} began: ${runName(kind)}`,
      })),
    ],
  };
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
const rate = (value: number): string => quantity(Math.round(value * 10) / 10);

function summaryOf(present: number, most: number | null, format: (value: number) => string): string {
  return `now ${format(present)}, at most ${format(Math.max(present, most ?? 0))}`;
}
