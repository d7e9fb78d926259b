/** Why no requests are sent to the store, and the other alarms. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import type { Alarm } from '../alarms/alarm.ts';
import type { Operator } from '../shared/operator.ts';
import { ago, instant } from './figures.ts';
import { blockAdvice } from './state-words.ts';

export interface Alarming {
  readonly alarms: readonly Alarm[];
  readonly blocked: Operator['blocked'];
  readonly nowMs: number;
}

export function blockedView({ blocked, alarms, nowMs }: Alarming): Html {
  if (blocked === null) return html``;
  const alarm = alarms.find(({ kind }) => kind === blocked.kind);
  const since = alarm === undefined ? '' : html`<p class="quiet">since ${sinceView(alarm.since, nowMs)}</p>`;
  if (blocked.kind === 'credentials') return refusedCredentials(blocked.message, since);
  return html`<section aria-labelledby="blocked-title">
    <h2 id="blocked-title">No requests are sent to the store</h2>
    <p>
      ${told(sentence(blocked.message))}
      ${blocked.untilMs === null ? '' : html`Requests resume at ${instant(blocked.untilMs)}.`}
    </p>
    ${since}
    <p class="advice"><b>What to do:</b> ${blockAdvice(blocked.kind)}</p>
  </section>`;
}

/** The credential lockout: refused credentials are not tried again, even after a restart. */
function refusedCredentials(message: string, since: Html | string): Html {
  return html`<section aria-labelledby="blocked-title">
    <h2 id="blocked-title">The store refuses the credentials</h2>
    <p>
      It gives no token for SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET, so nothing can be read, and suspect
      figures stay suspect. Webhooks are still stored and applied. To avoid a block by the store, the mirror
      does not try these credentials again by itself.
    </p>
    <p class="alarm">${told(sentence(message))}</p>
    ${since}
    <p class="advice"><b>What to do:</b></p>
    <ul class="advice">
      <li>
        If the secret was replaced, or is wrong here: correct it and restart the mirror, which then tries it
        at once.
      </li>
      <li>
        If the credentials are right and the fault was in the store, for example an expired app: have it
        corrected there, then press this button.
      </li>
    </ul>
    <form method="post" action="/page/retry-credentials" class="row">
      <input type="hidden" name="back" value="/" />
      <button class="main" id="retry-credentials">Try the credentials again</button>
      <span class="quiet">
        They are tried once. If the store accepts them, everything is read again; if not, nothing changes.
      </span>
    </form>
  </section>`;
}

export function alarmsView({ alarms, blocked, nowMs }: Alarming): Html {
  // What blocks requests is shown above.
  const others = alarms.filter(({ kind }) => kind !== blocked?.kind);
  if (others.length === 0) return html``;
  return html`<section aria-labelledby="alarms-title">
    <header><h2 id="alarms-title">Alarms</h2></header>
    ${others.map(
      ({ since, message }) =>
        html`<div class="alarm">
          ${told(sentence(message))}
          <p class="quiet">since ${sinceView(since, nowMs)}</p>
        </div>`,
    )}
  </section>`;
}

const sinceView = (sinceMs: number, nowMs: number): Html => html`${instant(sinceMs)}, ${ago(sinceMs, nowMs)}`;

function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** Shows text between backticks as code, and instants in the page's format. */
function told(text: string): Html[] {
  return text.split(/(`[^`]*`|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/).map((part, index) => {
    if (index % 2 === 0) return html`${part}`;
    if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`;
    const atMs = Date.parse(part);
    return Number.isNaN(atMs) ? html`${part}` : instant(atMs);
  });
}
