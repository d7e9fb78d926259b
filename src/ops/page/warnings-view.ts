/** What keeps the service from being asked, and what else a person should look at now. */
import { html } from 'hono/html';
import type { Html } from '../../page/html.ts';
import type { Alarm } from '../alarms/alarm.ts';
import type { Operator } from '../operator.ts';
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
    <h2 id="blocked-title">The service is not being asked</h2>
    <p>
      ${told(sentence(blocked.message))}
      ${blocked.untilMs === null ? '' : html`It is asked again at ${instant(blocked.untilMs)}.`}
    </p>
    ${since}
    <p class="advice"><b>What to do:</b> ${blockAdvice(blocked.kind)}</p>
  </section>`;
}

/** Tried once, then latched, over restarts too: a wrong secret must not be tried over and over. */
function refusedCredentials(message: string, since: Html | string): Html {
  return html`<section aria-labelledby="blocked-title">
    <h2 id="blocked-title">The service refuses the credentials</h2>
    <p>
      It gives no token for SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET, so nothing is read, and no token is
      asked for again before something changes. Webhooks are stored all the same.
    </p>
    <p class="alarm">${told(sentence(message))}</p>
    ${since}
    <p class="advice"><b>What to do:</b></p>
    <ul class="advice">
      <li>
        If the secret was replaced, or is wrong here: put the right one in place and start the service again.
        It reads them only then, and tries new ones by itself.
      </li>
      <li>
        If they are right, and it was the service that refused them by mistake, as when the app had expired:
        have that corrected there, then press this.
      </li>
    </ul>
    <form method="post" action="/page/retry-credentials" class="row">
      <input type="hidden" name="back" value="/" />
      <button class="main" id="retry-credentials">Try the credentials again</button>
      <span class="quiet">
        They are tried once. If they are accepted, everything is read again; if not, this stays as it is.
      </span>
    </form>
  </section>`;
}

export function alarmsView({ alarms, blocked, nowMs }: Alarming): Html {
  // What blocks is told above.
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

/** What stands between backticks as code, and instants as the page writes them. */
function told(text: string): Html[] {
  return text.split(/(`[^`]*`|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/).map((part, index) => {
    if (index % 2 === 0) return html`${part}`;
    if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`;
    const atMs = Date.parse(part);
    return Number.isNaN(atMs) ? html`${part}` : instant(atMs);
  });
}
