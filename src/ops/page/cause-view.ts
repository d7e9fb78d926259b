import { html } from 'hono/html';
import type { CommandOf } from '../../platform/own-command.ts';
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

interface Shown {
  readonly nowMs: number;
  readonly commandOf: CommandOf;
}

export function causeView(cause: Cause, { nowMs, commandOf }: Shown): Html {
  const { code, severity, owner, since, message, remedy } = cause;
  const list = LISTS[code];
  return html`<article id="cause-${code}" class="${severity}">
    <p><b>What to do:</b> ${marked(remedy)}</p>
    ${commandsIn(remedy).map((command, at) => commandView(`command-${code}-${at}`, commandOf(command)))}
    <p>${marked(message)} ${list === undefined ? '' : html`<a href="${list}">See the list</a>`}</p>
    <p class="row quiet">
      <code>${code}</code> <span>${severity}</span> <span>who can end it: ${OWNER_WORDS[owner]}</span>
      ${since === null ? '' : html`<span>since ${ago(since, nowMs)}</span>`}
    </p>
  </article>`;
}

/** Whole commands, without those that leave something open. */
function commandsIn(remedy: string): readonly string[] {
  const found = [...remedy.matchAll(/`(stock-mirror [^`…]+)`/g)].map(([, command = '']) => command);
  return [...new Set(found)];
}

function commandView(id: string, command: string): Html {
  return html`<p class="row command">
    <code id="${id}">${command}</code>
    <button class="outline secondary" data-copy="${id}" aria-label="Copy ${command}">Copy</button>
  </p>`;
}
