import { html } from 'hono/html';
import type { CommandOf } from '../../platform/own-command.ts';
import type { Html } from '../../web/html.ts';
import { guideOf } from '../state/cause-guide.ts';
import { OWNER_WORDS, type Cause, type CauseCode } from '../state/causes.ts';
import { ago, marked, rereadForm } from './parts.ts';

export const STATE_NAMES = { live: 'Live', catching_up: 'Catching up', stale: 'Stale' } as const;

const READ_AGAIN = rereadForm([], 'Read everything again');
const SHOW_PRODUCTS = html`<a href="/problems/failing" role="button" class="secondary">See the products</a>`;

/** Links and forms of the page that help with a cause. */
const ACTIONS: Partial<Record<CauseCode, readonly Html[]>> = {
  held_removals: [html`<a href="/problems/held" role="button">Decide about removals</a>`],
  parked_reads: [SHOW_PRODUCTS, READ_AGAIN],
  refused_products: [SHOW_PRODUCTS, READ_AGAIN],
  credentials: [READ_AGAIN],
  list_gap: [READ_AGAIN],
};

interface Shown {
  readonly nowMs: number;
  readonly commandOf: CommandOf;
}

export function causeView(cause: Cause, { nowMs, commandOf }: Shown): Html {
  const { code, severity, owner, since, message, remedy } = cause;
  const actions = ACTIONS[code];
  return html`<article id="cause-${code}" class="${severity}">
    <header>
      <h2>${guideOf(code).title}</h2>
      ${actions === undefined ? '' : html`<div class="row">${actions}</div>`}
    </header>
    <p>${marked(message)}</p>
    <p><b>What to do:</b> ${remedyView(remedy, { code, commandOf })}</p>
    <p class="row quiet">
      <a href="/causes#${code}"><code>${code}</code></a> <span>${severity}</span>
      <span>who can end it: ${OWNER_WORDS[owner]}</span>
      ${since === null ? '' : html`<span>began ${ago(since, nowMs)}</span>`}
    </p>
  </article>`;
}

/** Commands as this installation types them. One that leaves something open (`…`) cannot be copied. */
function remedyView(
  remedy: string,
  { code, commandOf }: Pick<Cause, 'code'> & Pick<Shown, 'commandOf'>,
): Html[] {
  return remedy.split(/`(stock-mirror [^`]+)`/).map((part, at) => {
    if (at % 2 === 0) return html`${marked(part)}`;
    const command = commandOf(part);
    if (command.includes('…')) return html`<code>${command}</code>`;
    const id = `command-${code}-${at}`;
    return html`<code id="${id}" class="command">${command}</code
      ><button class="outline secondary copy" data-copy="${id}" aria-label="Copy ${command}">Copy</button>`;
  });
}
