/** The page of a host that only receives webhooks. */
import { html } from 'hono/html';
import type { CommandOf } from '../../platform/own-command.ts';
import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';
import type { Verdict } from '../state/state.ts';
import { causesView } from './causes-view.ts';
import { causeView, STATE_NAMES } from './cause-view.ts';
import { EVERY_MS } from './parts.ts';

interface Shown {
  readonly nowMs: number;
  readonly commandOf: CommandOf;
}

export function receiverPage(verdict: Verdict, shown: Shown): Html {
  const main = html`<article class="${verdict.state}">
      <header><h1>This process only receives webhooks</h1></header>
      <p>
        It has <code>ROLE=receiver</code>. Stock, deliveries and runs are on the page of the mirror, at its
        <code>OPS_HOST</code> and <code>OPS_PORT</code>. Here are
        <a href="/api/status">state and causes</a> as JSON, and <a href="/metrics">metrics</a>.
      </p>
    </article>
    ${verdict.causes.map((cause) => causeView(cause, shown))}`;
  return framed(verdict, 'Receiver', main);
}

export function receiverCausesPage(verdict: Verdict, commandOf: CommandOf): Html {
  return framed(verdict, 'Causes', causesView(commandOf));
}

function framed({ state }: Verdict, title: string, main: Html): Html {
  return frame({
    title,
    server: 'The receiver',
    everyMs: EVERY_MS,
    links: [['/', 'Receiver']],
    at: '/',
    tools: html`<span class="state ${state}" role="status">${STATE_NAMES[state]}</span>`,
    main,
  });
}
