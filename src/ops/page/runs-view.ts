import { html } from 'hono/html';
import { countDifferences, type Run } from '../../core/runs.ts';
import { duration } from '../../platform/amounts.ts';
import type { Html } from '../../web/html.ts';
import { differenceWords, runName } from '../shared/words.ts';
import { ago, count, facts, instant, numeric, pager, quantity, rereadForm, table } from './parts.ts';

export const RUNS_SHOWN = 50;

export function runsView(found: readonly Run[], isFirst: boolean, nowMs: number): Html {
  const runs = found.slice(0, RUNS_SHOWN);
  return html`<article>
    <header>
      <h1>Runs</h1>
      ${rereadForm([], 'Read everything again')}
    </header>
    ${table(
      ['Run', 'State', 'Started', numeric('Took'), numeric('Read'), numeric('Corrected'), numeric('Failed')],
      runs.map((run) => runRow(run, nowMs)),
      isFirst ? 'Nothing has been read yet.' : 'There are no more.',
    )}
    ${pager({
      first: isFirst ? null : '/runs',
      next: found.length > runs.length ? `/runs?before=${runs.at(-1)?.id}` : null,
    })}
  </article>`;
}

function runRow(run: Run, nowMs: number) {
  const { id, startedAtMs, finishedAtMs, total, done, differences, failed } = run;
  return {
    id: `run-${id}`,
    cells: [
      runLink(run),
      stateView(run),
      instant(startedAtMs),
      duration((finishedAtMs ?? nowMs) - startedAtMs),
      `${quantity(done)} of ${quantity(total)}`,
      quantity(countDifferences(differences)),
      quantity(failed),
    ],
  };
}

const runLink = ({ id, kind }: Run): Html => html`<a href="/runs/${id}">Run ${id}: ${runName(kind)}</a>`;
const stateView = ({ state }: Run): Html => html`<span class="state ${state}">${state}</span>`;

export function runView(run: Run, nowMs: number, isBlocked: boolean): Html {
  const { productIds, error, startedAtMs, finishedAtMs, allowedBy, allowedWhy } = run;
  const found = countDifferences(run.differences);
  const all: [name: string, value: Html | string][] = [
    ['Started', html`${instant(startedAtMs)}, ${ago(startedAtMs, nowMs)}`],
    ['Took', `${duration((finishedAtMs ?? nowMs) - startedAtMs)}${finishedAtMs === null ? ' so far' : ''}`],
    ['Covers', productIds === null ? 'the whole catalogue' : productsOf(productIds)],
    ['Compared', count(run.compared, 'value')],
    [
      'Found',
      html`${differenceWords(run.differences)}
      ${found > 0 ? html`<a href="/problems/differences?derived=1">all differences</a>` : ''}`,
    ],
    ['Removed', count(run.removed, 'quantity', 'quantities')],
    ['Failed', count(run.failed, 'product')],
  ];
  if (allowedBy !== null) all.push(['Removals allowed by', `${allowedBy}: ${allowedWhy ?? ''}`]);
  return html`<article>
    <header>
      <h1>Run ${run.id}: ${runName(run.kind)}</h1>
      ${stateView(run)}
    </header>
    ${progressView(run, nowMs, isBlocked)} ${error === null ? '' : html`<p class="problem">${error}</p>`}
    ${facts(all)}
  </article>`;
}

const productsOf = (ids: readonly string[]): string =>
  `${count(ids.length, 'product')}: ${ids.slice(0, 50).join(', ')}${ids.length > 50 ? ', …' : ''}`;

export function runningView(run: Run, nowMs: number, isBlocked: boolean): Html {
  return html`<article>
    <header>${runLink(run)} ${stateView(run)}</header>
    ${progressView(run, nowMs, isBlocked)}
  </article>`;
}

function progressView(run: Run, nowMs: number, isBlocked: boolean): Html {
  const { id, done, total } = run;
  const share = total === 0 ? 0 : Math.min(100, Math.floor((done / total) * 100));
  return html`<progress
      max="${Math.max(1, total)}"
      value="${done}"
      aria-label="Products read in run ${id}"
    ></progress>
    <p>
      ${quantity(done)} of ${count(total, 'product')}, ${share}%
      <span class="quiet"
        >${run.state !== 'running' ? '' : isBlocked ? 'no request is sent to the store at present' : remaining(run, nowMs)}</span
      >
    </p>`;
}

/** The total grows while the catalogue is being listed. */
function remaining({ done, total, startedAtMs, listDone }: Run, nowMs: number): string {
  const seconds = (nowMs - startedAtMs) / 1_000;
  if (done === 0 || seconds < 1) return 'just started';
  const left = duration(((total - done) / done) * seconds * 1_000);
  const rate = Math.round((done / seconds) * 10) / 10;
  return `${count(rate, 'product')} per second, about ${left} left${listDone ? '' : ' of those listed so far'}`;
}
