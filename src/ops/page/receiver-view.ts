/** The page of a host that only receives webhooks. */
import { html } from 'hono/html';
import type { CommandOf } from '../../platform/own-command.ts';
import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';
import type { Verdict } from '../state/state.ts';
import { causeView, STATE_NAMES } from './cause-view.ts';
import { EVERY_MS } from './show-page.ts';

export function receiverPage(
  { state, causes }: Verdict,
  shown: { readonly nowMs: number; readonly commandOf: CommandOf },
): Html {
  return frame({
    title: 'Receiver: stock-mirror',
    brand: 'stock-mirror',
    server: 'The receiver',
    everyMs: EVERY_MS,
    links: [['/', 'Receiver']],
    at: '/',
    tools: html`<span class="state ${state}" role="status">${STATE_NAMES[state]}</span>`,
    message: '',
    main: html`<article class="${state}">
        <header><h1>This process only receives webhooks</h1></header>
        <p>
          It has <code>ROLE=receiver</code>. Stock, deliveries and runs are on the page of the mirror, at its
          <code>OPS_HOST</code> and <code>OPS_PORT</code>. Here are
          <a href="/api/status">state and causes</a> as JSON, and <a href="/metrics">metrics</a>.
        </p>
      </article>
      ${causes.map((cause) => causeView(cause, shown))}`,
  });
}
