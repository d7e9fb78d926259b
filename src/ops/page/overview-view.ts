import { html } from 'hono/html';
import type { Run } from '../../core/runs.ts';
import type { Status } from '../../mirror/queries/status.ts';
import type { CommandOf } from '../../platform/own-command.ts';
import type { Html } from '../../web/html.ts';
import { fullReadWords, sellableWords } from '../shared/words.ts';
import { firstCause, type Verdict } from '../state/state.ts';
import type { Minute } from '../state/timeline.ts';
import { causeView } from './cause-view.ts';
import { ago, count, facts, marked, quantity, suspectWords } from './parts.ts';
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
  const { state } = mirror;
  const { sellable, suspect_count: suspects, pending_reads: reads } = status;
  const isEmpty = sellable.total === 0;
  const isAllCurrent = suspects === 0 && reads === 0;
  const isNoneCurrent = suspects === sellable.total;
  const current = currentWords(suspects, sellable.total);
  const notYet = 'Do not rely on these values yet';
  const [answer, reason] = {
    live: [
      isEmpty
        ? 'There is nothing to sell'
        : isAllCurrent
          ? 'You can rely on these values'
          : 'You can rely on all values that are not suspect',
      current,
    ],
    catching_up:
      firstCause(mirror) === 'unproven'
        ? [notYet, 'None is trusted until a webhook of the store has arrived.']
        : [isNoneCurrent ? notYet : 'You can rely on the values that are not suspect', current],
    stale: [
      'Do not rely on these values',
      'They may be wrong or out of date until the critical causes below have ended.',
    ],
  }[state] as [string, string];
  return html`<article id="now" class="${state}">
    <header><h1>${answer}</h1></header>
    <p>${reason}</p>
  </article>`;
}

function currentWords(suspects: number | null, total: number): string {
  if (total === 0) return 'The mirror has no quantity to sell.';
  if (suspects === 0) return `${quantities(total)}, all current.`;
  if (suspects === total) return `All quantities (${quantity(total)}) are suspect until they are read.`;
  return `Suspect: ${suspectWords(suspects)} of ${quantities(total)}. The others are current.`;
}

const quantities = (total: number): string => count(total, 'quantity', 'quantities');

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
    ${
      status.dead_letters === 0
        ? ''
        : html`<p>
            <a href="/deliveries?show=dead-letters"
              >${count(status.dead_letters, 'delivery or item was', 'deliveries or items were')} not
              understood</a
            >; the affected products are read instead.
          </p>`
    }
    ${status.last_read_error === null ? '' : html`<p>Latest failed read: ${marked(status.last_read_error)}</p>`}
  </article>`;
}
