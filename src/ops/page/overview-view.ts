import { html } from 'hono/html';
import type { Run } from '../../core/runs.ts';
import type { Status } from '../../mirror/queries/status.ts';
import type { CommandOf } from '../../platform/own-command.ts';
import type { Html } from '../../web/html.ts';
import { fullReadWords, sellableWords } from '../shared/words.ts';
import { firstCause, type Verdict } from '../state/state.ts';
import type { Minute } from '../state/timeline.ts';
import { causeView } from './cause-view.ts';
import { ago, count, facts, quantity, suspectWords } from './parts.ts';
import { plotsView, type Span } from './plots-view.ts';
import { runningView } from './runs-view.ts';

interface Overview {
  readonly mirror: Verdict;
  readonly status: Status;
  readonly running: readonly Run[];
  readonly isBlocked: boolean;
  readonly minutes: readonly (Minute | null)[];
  readonly span: Span;
  readonly nowMs: number;
  readonly commandOf: CommandOf;
}

export function overviewView(overview: Overview): Html {
  const { mirror, running, isBlocked, minutes, span, nowMs, commandOf } = overview;
  return html`${answerView(overview)} ${valuesView(overview)}
  ${mirror.causes.map((cause) => causeView(cause, { nowMs, commandOf }))}
  ${running.map((run) => runningView(run, nowMs, isBlocked))} ${plotsView(minutes, nowMs, span)}`;
}

export function unreadableView({ causes }: Verdict, shown: Pick<Overview, 'nowMs' | 'commandOf'>): Html {
  return html`<article id="now" class="stale">
      <header><h1>This page cannot be shown</h1></header>
      <p>The mirror cannot be read. Deliveries are accepted unless a cause says otherwise.</p>
    </article>
    ${causes.map((cause) => causeView(cause, shown))}`;
}

function answerView({ mirror, status }: Overview): Html {
  return html`<article id="now" class="${mirror.state}">
    <header><h1>${answerOf(mirror, status)}</h1></header>
    <p>${reasonOf(mirror, status)}</p>
  </article>`;
}

function answerOf({ state }: Verdict, { sellable, suspect_count: suspects }: Status): string {
  if (state === 'stale') return 'Do not rely on these values';
  if (state === 'live' && sellable.total === 0) return 'There is nothing to sell';
  if (sellable.trusted === 0) return 'Do not rely on these values yet';
  return suspects === 0 ? 'You can rely on these values' : 'You can rely on the values that are not suspect';
}

function reasonOf(mirror: Verdict, { sellable, suspect_count: suspects }: Status): string {
  if (mirror.state === 'stale') {
    return 'They may be wrong or out of date until the critical causes below have ended.';
  }
  if (firstCause(mirror) === 'unproven') return 'None is trusted until a webhook of the store has arrived.';
  const all = count(sellable.total, 'quantity', 'quantities');
  if (sellable.total === 0) return 'The mirror has no quantity to sell.';
  if (suspects === 0) return `${all}, all current.`;
  if (suspects === sellable.total)
    return `All quantities (${quantity(suspects)}) are suspect until they are read.`;
  return `Suspect: ${suspectWords(suspects)} of ${all}. The others are current.`;
}

function valuesView({ status, nowMs }: Overview): Html {
  const proof = status.last_full_read;
  const sold = sellableWords(status.sellable);
  const soldView = status.suspect_count === 0 ? sold : html`<a href="/stock?suspect=1">${sold}</a>`;
  const values: readonly (readonly [name: string, value: Html | string])[] = [
    ['Can be sold now', soldView],
    ['Waiting to be read', quantity(status.pending_reads)],
    ['Last webhook', ago(status.last_accepted_at, nowMs)],
    ['Oldest check', ago(status.oldest_verified_at, nowMs)],
  ];
  return html`<article>
    ${facts(values, 'values')}
    ${
      proof === null
        ? ''
        : html`<p>
            <a href="/runs/${proof.run_id}">Last full read</a> ${ago(proof.finished_at, nowMs)}:
            ${fullReadWords(proof)}.
          </p>`
    }
  </article>`;
}
