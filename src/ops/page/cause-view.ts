import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import { OWNER_WORDS, type Cause, type CauseCode } from '../state/causes.ts';
import { ago, marked } from './parts.ts';

export const STATE_NAMES = { live: 'Live', catching_up: 'Catching up', stale: 'Stale' } as const;

/** Lists that show what a cause counts. */
const LISTS: Partial<Record<CauseCode, string>> = {
  held_removals: '/problems/held',
  parked_reads: '/problems/failing',
  refused_products: '/problems/failing',
};

export function causeView({ code, severity, owner, since, message, remedy }: Cause, nowMs: number): Html {
  const list = LISTS[code];
  return html`<article id="cause-${code}" class="${severity}">
    <p><b>What to do:</b> ${marked(remedy)}</p>
    <p>${marked(message)} ${list === undefined ? '' : html`<a href="${list}">See the list</a>`}</p>
    <p class="row quiet">
      <code>${code}</code> <span>${severity}</span> <span>who can end it: ${OWNER_WORDS[owner]}</span>
      ${since === null ? '' : html`<span>since ${ago(since, nowMs)}</span>`}
    </p>
  </article>`;
}
