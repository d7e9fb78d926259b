import { html } from 'hono/html';
import { pathOf, type Call, type Cut } from '../shared/calls.ts';
import { shownRequest } from '../control/inspector.ts';
import { curlOf } from '../shared/curl.ts';
import type { PageDeps } from './deps.ts';
import type { Html } from '../../web/html.ts';
import { timeView } from './time-view.ts';

const SHOWN_BESIDES = 15;
const SHOWN_ALONE = 200;
/** More of a request's body has no room beside its path. */
const ASKED_SHOWN = 120;

/** Which calls are shown; kept in the address. */
interface CallsView {
  /** Empty: of all. */
  readonly path: string;
  readonly wrongOnly: boolean;
}

export function readCallsView(params: URLSearchParams): CallsView {
  return { path: params.get('path') ?? '', wrongOnly: params.get('wrong') !== null };
}

/** The latest calls, beside everything else. */
export function latestCallsView({ calls, issuer }: PageDeps): Html {
  const shown = calls.recent.filter((call) => !isMirrorReading(call)).slice(0, SHOWN_BESIDES);
  return html`<section id="calls" aria-labelledby="calls-title">
    <header>
      <h2 id="calls-title">Your API calls</h2>
      <a href="/calls">All calls</a>
    </header>
    <p id="calls-none" class="quiet" data-live="whole">
      ${shown.length === 0 ? 'None yet. Each shows its request, its answer, and what was wrong.' : ''}
    </p>
    <ol id="calls-list" class="cards list" data-live="rows">
      ${shown.map((call) => card(call, issuer))}
    </ol>
  </section>`;
}

/** What a mirror does all the time; it stays in the list of all calls. */
function isMirrorReading(call: Call): boolean {
  const agent = call.headers.find(([name]) => name.toLowerCase() === 'user-agent')?.[1] ?? '';
  return call.trouble === null && agent.startsWith('stock-mirror/') && !pathOf(call).startsWith('/v1/order/');
}

export function callsPage({ calls, issuer }: PageDeps, view: CallsView): Html {
  const all = calls.recent;
  const paths = [...new Set(all.map(pathOf))].toSorted();
  const shown = all
    .filter((call) => view.path === '' || pathOf(call) === view.path)
    .filter((call) => !view.wrongOnly || (call.trouble !== null && !call.trouble.isFault));
  return html`<section id="calls" aria-labelledby="calls-title">
    <header>
      <h2 id="calls-title">API calls</h2>
      <form action="/calls" class="row">
        <label class="hidden" for="path">Path</label>
        <select id="path" name="path">
          <option value="">all paths</option>
          ${paths.map(
            (path) =>
              html`<option value="${path}" ${path === view.path ? html`selected` : ''}>${path}</option>`,
          )}
        </select>
        <label class="check"
          ><input type="checkbox" name="wrong" ${view.wrongOnly ? html`checked` : ''} /> only what was
          wrong</label
        >
        <button>Show</button>
      </form>
    </header>
    <p id="calls-total" class="quiet" data-live="whole">
      ${Math.min(shown.length, SHOWN_ALONE)} of the latest ${all.length} calls; 100 of each path are kept.
    </p>
    <ol id="calls-list" class="cards" data-live="rows">
      ${shown.slice(0, SHOWN_ALONE).map((call) => card(call, issuer))}
    </ol>
  </section>`;
}

function card(call: Call, issuer: PageDeps['issuer']): Html {
  const id = `call-${call.id}`;
  const { target, body } = shownRequest(call, (value) => issuer.madeUp(value));
  return html`<li id="${id}">
    <div class="row">
      <span id="${id}-fate" data-live="whole">${fateOf(call)}</span>
      <a href="/calls/${call.id}"><code>${call.method} ${target}</code></a>
      <code class="quiet asked">${body.text.slice(0, ASKED_SHOWN)}</code>
      <span class="quiet push">${timeView(call.atMs)}</span>
    </div>
    <div id="${id}-wrong" data-live="whole">${troubleOf(call.trouble)}</div>
  </li>`;
}

function fateOf({ answer, ms, trouble }: Call): Html {
  if (answer === null) {
    return trouble === null
      ? html`<b class="state">waits</b>`
      : html`<b class="state odd">cut</b> after ${Math.round(ms ?? 0)} ms`;
  }
  const state = answer.status < 300 ? 'good' : trouble?.isFault === true ? 'odd' : 'bad';
  return html`<b class="state ${state}">${answer.status}</b> in ${Math.round(ms ?? 0)} ms`;
}

function troubleOf(trouble: Call['trouble']): Html {
  if (trouble === null) return html``;
  return trouble.isFault
    ? html`<span class="quiet">A fault of the sandbox, not your request: ${trouble.words}.</span>`
    : html`<span class="advice">${trouble.words}.</span>`;
}

/** One call whole. */
export function callPage({ issuer }: PageDeps, call: Call, baseUrl: string): Html {
  const { target, headers, body } = shownRequest(call, (value) => issuer.madeUp(value));
  const { answer, trouble } = call;
  const curl = curlOf({ method: call.method, url: baseUrl + target, headers, body: body.text });
  return html`<section aria-labelledby="call-title">
      <header>
        <h2 id="call-title"><code>${call.method} ${target}</code></h2>
        <span id="call-fate" class="push" data-live="whole">${fateOf(call)} at ${timeView(call.atMs)}</span>
      </header>
      <div id="call-wrong" data-live="whole">${troubleOf(trouble)}</div>
      <h3>Request</h3>
      <p class="quiet">Secrets and tokens that this sandbox did not make up are hidden.</p>
      <pre tabindex="0">${headerLines(headers)}</pre>
      <pre tabindex="0">${textOf(body)}</pre>
      ${copyable('curl', 'The same with curl', curl)}
    </section>
    <section id="call-answer" aria-labelledby="answer-title" data-live="whole">
      <header><h2 id="answer-title">Answer</h2></header>
      ${
        answer === null
          ? html`<p class="quiet">None.</p>`
          : html`<pre tabindex="0">
${answer.status}
${headerLines(Object.entries(answer.headers))}</pre>
              <pre tabindex="0">${pretty(answer.text)}</pre>`
      }
    </section>`;
}

/** Text to be taken elsewhere; the button works with scripts only, and is hidden without. */
export function copyable(id: string, title: string, text: string): Html {
  return html`<div class="row">
      <h3>${title}</h3>
      <button class="light" data-copy="${id}" hidden>Copy</button>
    </div>
    <pre id="${id}" tabindex="0">${text}</pre>`;
}

function headerLines(headers: readonly (readonly [string, string])[]): string {
  return headers.map(([name, value]) => `${name}: ${value}`).join('\n');
}

function textOf({ text, more }: Cut): string {
  if (text === '') return '(no body)';
  return more === 0 ? text : `${text}\n… and ${more} more`;
}

/** JSON over several lines: the bytes of an answer are of no use, unlike those of a request. */
function pretty(cut: Cut): string {
  try {
    return JSON.stringify(JSON.parse(cut.text), null, 2);
  } catch {
    return textOf(cut);
  }
}
