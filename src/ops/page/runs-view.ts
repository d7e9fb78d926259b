import { html } from 'hono/html';
import type { Run } from '../../core/runs.ts';
import { ago, count, duration, instant, quantity } from './figures.ts';
import type { Html } from '../../web/html.ts';
import { pager } from './pager.ts';
import { runName } from '../shared/words.ts';

interface RunsPage {
  readonly runs: readonly Run[];
  readonly hasMore: boolean;
  readonly isFirst: boolean;
}

export function runsView({ runs, hasMore, isFirst }: RunsPage, nowMs: number): Html {
  const oldest = runs.at(-1);
  return html`<section aria-labelledby="runs-title">
    <header>
      <h2 id="runs-title">Runs: reads of the catalogue or of single products</h2>
      <span class="quiet">newest first</span>
    </header>
    <div id="runs-list" data-live>
      ${
        runs.length === 0
          ? html`<p class="none">${isFirst ? 'There are none yet.' : 'There are no more.'}</p>`
          : html`<table class="blocks">
              <thead>
                <tr>
                  <th scope="col">Run</th>
                  <th scope="col">State</th>
                  <th scope="col">Started</th>
                  <th scope="col" class="figure">Took</th>
                  <th scope="col" class="figure">Read</th>
                  <th scope="col" class="figure">Corrected</th>
                  <th scope="col" class="figure">Failed</th>
                </tr>
              </thead>
              <tbody>
                ${runs.map((run) => runRow(run, nowMs))}
              </tbody>
            </table>`
      }
      ${pager({
        of: 'of the runs',
        first: isFirst ? null : '/runs',
        next: hasMore && oldest !== undefined ? `/runs?before=${oldest.id}` : null,
      })}
    </div>
  </section>`;
}

function runRow(run: Run, nowMs: number): Html {
  const { id, kind, state, startedAtMs, finishedAtMs, total, done, drift, failed } = run;
  return html`<tr id="run-${id}" data-new>
    <th scope="row">
      <a id="run-${id}-link" href="/runs/${id}">${runName(kind)}</a> <span class="quiet">${id}</span>
    </th>
    <td data-label="state"><span class="state ${state}">${state}</span></td>
    <td class="whole" data-label="started">${instant(startedAtMs)}</td>
    <td class="figure" data-label="took">${duration((finishedAtMs ?? nowMs) - startedAtMs)}</td>
    <td class="figure" data-label="read">${quantity(done)} of ${quantity(total)}</td>
    <td class="figure" data-label="corrected">${quantity(drift)}</td>
    <td class="figure" data-label="failed">${quantity(failed)}</td>
  </tr>`;
}

export function runView(run: Run, nowMs: number, { isHeld }: { readonly isHeld: boolean }): Html {
  const { productIds, error } = run;
  return html`<section id="run" data-live class="stack" aria-label="Run ${run.id}">
    ${runProgress(run, nowMs, { isHeld, isAlone: true })}
    ${error === null ? '' : html`<p class="alarm">${error}</p>`}
    <dl class="facts">
      <dt>Started</dt>
      <dd>${instant(run.startedAtMs)}, ${ago(run.startedAtMs, nowMs)}</dd>
      <dt>Ended</dt>
      <dd>
        ${run.finishedAtMs === null ? 'not yet' : html`${instant(run.finishedAtMs)}, after ${duration(run.finishedAtMs - run.startedAtMs)}`}
      </dd>
      <dt>Covers</dt>
      <dd>
        ${
          productIds === null
            ? html`the whole catalogue${run.listDone ? '' : ', whose list is still being read'}`
            : html`${count(productIds.length, 'product')}:
              ${productIds.slice(0, 50).join(', ')}${productIds.length > 50 ? ', …' : ''}`
        }
      </dd>
      <dt>Corrected</dt>
      <dd>
        ${count(run.drift, 'difference')} between the mirror and the store
        ${run.drift > 0 ? html`(<a href="/drift">see the drift report</a>)` : ''}
      </dd>
      <dt>Failed</dt>
      <dd>${count(run.failed, 'product')}</dd>
    </dl>
  </section>`;
}

/**
 * The progress bar, and the time left.
 * @param how.isHeld the mirror is blocked: no rate of before says when it goes on.
 * @param how.isAlone on the run's own page.
 */
export function runProgress(
  run: Run,
  nowMs: number,
  { isHeld, isAlone }: { readonly isHeld: boolean; readonly isAlone: boolean },
): Html {
  const { id, kind, state, done, total } = run;
  const share = total === 0 ? 0 : Math.min(1, done / total);
  return html`<div class="run">
    <div class="row">
      ${isAlone ? '' : html`<a class="strong" href="/runs/${id}">${runName(kind)}</a>`}
      <span class="state ${state}">${state}</span>
      <span class="push figure">${quantity(done)} of ${quantity(total)}, ${Math.floor(share * 100)} %</span>
    </div>
    <progress max="${Math.max(1, total)}" value="${done}" aria-label="Products read in run ${id}"></progress>
    <span class="quiet"
      >${state !== 'running' ? '' : isHeld ? 'waits until the mirror is no longer blocked' : remaining(run, nowMs)}</span
    >
  </div>`;
}

/** At the rate so far. While the catalogue list is being read, the total still grows. */
function remaining({ done, total, startedAtMs, listDone }: Run, nowMs: number): string {
  const tookMs = nowMs - startedAtMs;
  if (done === 0 || tookMs < 1_000) return 'starting';
  const perSecond = (done / tookMs) * 1_000;
  const rate = `${perSecond < 10 ? Math.round(perSecond * 10) / 10 : Math.round(perSecond)} products per second`;
  const left = duration(((total - done) / perSecond) * 1_000);
  return `${rate}, about ${left} left${listDone ? '' : ' for the part listed so far'}`;
}
