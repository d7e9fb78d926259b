/** Why no requests are sent to the store, and the other alarms. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import { besides, type Alarm } from '../alarms/alarm.ts';
import { capital, isBlocking, ownerWords, type Cause } from '../condition/cause.ts';
import { timesOf, type Condition } from '../condition/condition.ts';
import type { Operator } from '../shared/operator.ts';
import { idView } from './id-view.ts';
import { ago, instant } from './figures.ts';

export interface Alarming {
  readonly alarms: readonly Alarm[];
  readonly blocked: Operator['blocked'];
  readonly condition: Condition;
  readonly nowMs: number;
}

/** A cause below its headline: whose it is, what it means, what to do, since when. */
export function causeView(cause: Cause, nowMs: number): Html {
  const times = timesOf(cause, nowMs);
  return html`<p>${ownerWords(cause)}. ${told(capital(cause.figures))}.</p>
    <p class="advice"><b>What to do:</b> ${told(cause.remedy)}.</p>
    ${times === '' ? '' : html`<p class="quiet">${capital(times)}.</p>`}`;
}

/** What stands besides the headline. */
export function otherCausesView({ condition, nowMs }: Alarming): Html {
  const others = condition.name === 'blocked' ? condition.causes.slice(1) : condition.causes;
  if (others.length === 0) return html``;
  return html`<section aria-labelledby="causes-title">
    <header><h2 id="causes-title">${condition.name === 'blocked' ? 'Also' : 'To look at'}</h2></header>
    ${others.map(
      (cause) =>
        html`<div class="${isBlocking(cause) ? 'alarm' : 'remark'}">
          <b>${told(cause.cause)}.</b> ${causeView(cause, nowMs)}
        </div>`,
    )}
  </section>`;
}

export function blockedView({ blocked }: Alarming): Html {
  if (blocked === null) return html``;
  const isRefused = blocked.kind === 'credentials';
  return html`<section aria-labelledby="blocked-title">
    <h2 id="blocked-title">No requests are sent to the store: the last error</h2>
    <p class="alarm">${told(sentence(blocked.message))}</p>
    ${isRefused ? retryCredentials() : ''}
  </section>`;
}

/** The credential lockout: refused credentials are not tried again, even after a restart. */
function retryCredentials(): Html {
  return html`<p>
      To avoid a block by the store, the mirror does not try these credentials again by itself. If they are
      right and the fault was in the store, for example an expired app, have it corrected there, then press
      this button.
    </p>
    <form method="post" action="/page/retry-credentials" class="row">
      <input type="hidden" name="back" value="/" />
      <button class="main" id="retry-credentials">Try the credentials again</button>
      <span class="quiet">
        They are tried once. If the store accepts them, everything is read again; if not, nothing changes.
      </span>
    </form>`;
}

export function alarmsView({ alarms, condition, nowMs }: Alarming): Html {
  const others = besides(alarms, condition.causes);
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
  const whole = capital(text);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const MARKED =
  /(`[^`]*`|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b)/;

/** Shows text between backticks as code, instants in the page's format, and the ids of requests shortened. */
export function told(text: string): Html[] {
  return text.split(MARKED).map((part, index) => {
    if (index % 2 === 0) return html`${part}`;
    if (UUID.test(part)) return idView(part);
    if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`;
    const atMs = Date.parse(part);
    return Number.isNaN(atMs) ? html`${part}` : instant(atMs);
  });
}
