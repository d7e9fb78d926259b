import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import { pathOf } from '../shared/calls.ts';
import type { Call, CallLog } from '../shared/calls.ts';
import { curlOf, headerLines, rawText, timeView, took } from './raw-view.ts';

const SHOWN_ON_FRONT = 15;
const BODY_SHOWN = 120;

/** `latest` omits a mirror's successful reads. */
export function callsView(calls: CallLog, which: 'latest' | 'all'): Html {
  const shown =
    which === 'all'
      ? calls.recent
      : calls.recent.filter((call) => !isMirrorReading(call)).slice(0, SHOWN_ON_FRONT);
  return html`<article id="calls" aria-labelledby="calls-title">
    <header>
      <h2 id="calls-title">API calls</h2>
      ${which === 'all' ? html`<span class="quiet">the latest 100 of each path</span>` : html`<a href="/calls">All calls</a>`}
    </header>
    <ol id="calls-list">
      ${shown.map(card)}
    </ol>
  </article>`;
}

function isMirrorReading(call: Call): boolean {
  const agent = call.headers.find(([name]) => name.toLowerCase() === 'user-agent')?.[1] ?? '';
  const isGood = call.answer === null || call.answer.status < 300;
  return isGood && agent.startsWith('stock-mirror/') && !pathOf(call).startsWith('/v1/order/');
}

function card(call: Call): Html {
  return html`<li id="call-${call.id}" class="row">
    <span>${fateOf(call)}</span>
    <a href="/calls/${call.id}"><code>${call.method} ${call.target}</code></a>
    <code class="quiet asked">${call.body.slice(0, BODY_SHOWN)}</code>
    <span class="quiet push">${timeView(call.atMs)}</span>
  </li>`;
}

function fateOf({ answer, ms }: Call): Html {
  if (answer !== null)
    return html`<b class="state ${answer.status < 300 ? 'good' : 'bad'}">${answer.status}</b> ${took(ms)}`;
  return ms === null ? html`<b class="state">waits</b>` : html`<b class="state odd">cut</b> ${took(ms)}`;
}

export function callView(call: Call, baseUrl: string): Html {
  const { method, target, headers, body, answer } = call;
  const curl = curlOf({ method, url: baseUrl + target, headers, body });
  return html`<article aria-labelledby="call-title">
    <header>
      <h2 id="call-title"><code>${method} ${target}</code></h2>
      <span>${fateOf(call)} at ${timeView(call.atMs)}</span>
    </header>
    <h3>Request</h3>
    ${rawText(`${headerLines(headers)}\n\n${body}`)}
    <h3>Answer</h3>
    ${
      answer === null
        ? 'none'
        : rawText(`${answer.status}\n${headerLines(Object.entries(answer.headers))}\n\n${answer.text}`)
    }
    <h3>With curl</h3>
    ${rawText(curl, 'curl')}
  </article>`;
}
