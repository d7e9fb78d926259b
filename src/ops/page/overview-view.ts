import { html } from 'hono/html';
import type { Lag } from '../../mirror/queries/inbox.ts';
import type { Run } from '../../core/runs.ts';
import type { Status } from '../../mirror/queries/status.ts';
import { reservationOf, shareText, type Condition } from '../condition/condition.ts';
import type { Minute } from '../state/timeline.ts';
import { ago, count, duration, quantity } from './figures.ts';
import type { Html } from '../../web/html.ts';
import { plotsView } from './plots-view.ts';
import { runProgress } from './runs-view.ts';
import { adviceOf, requestGroups, detailsOf, type Situation } from './state-words.ts';
import { alarmsView, blockedView, causeView, otherCausesView, told, type Alarming } from './warnings-view.ts';
import { heldWords } from '../alarms/held-words.ts';

interface Overview extends Situation, Alarming {
  readonly readsUnderWay: number;
  readonly running: readonly Run[];
  readonly lag: Lag;
  /** The last day, oldest first. */
  readonly minutes: readonly Minute[];
}

export function overviewView(overview: Overview): Html {
  return html`${now(overview)} ${figures(overview)} ${plotsOf(overview)} ${operatorView(overview)}`;
}

function plotsOf({ minutes, status }: Overview): Html {
  return plotsView({
    minutes,
    present: { suspects: status.suspect_count, pendingReads: status.pending_reads },
  });
}

function certainView(condition: Condition): Html {
  const { share, certain, levels } = condition.certainty;
  const reservation = reservationOf(condition);
  return html`<div class="certain">
    <p>
      <b class="share">${shareText(condition.certainty)}</b>
      <span class="quiet"
        >${
          share === null
            ? 'how many stock levels are certain'
            : html`of the stock levels are certain: ${quantity(certain)} of ${quantity(levels)}`
        }</span
      >
    </p>
    ${reservation === null ? '' : html`<p class="advice">${reservation}.</p>`}
  </div>`;
}

function now(overview: Overview): Html {
  const { status, nowMs, running, condition } = overview;
  const { name, title, headline, causes } = condition;
  const blocking = name === 'blocked' ? causes[0] : undefined;
  const details = detailsOf(overview);
  const advice = adviceOf(condition);
  return html`<div id="now" data-live class="stack">
    <section class="now ${name}" aria-label="State">
      <span class="state ${name}">${title}</span>
      <div>
        <p class="headline">${told(headline)}.</p>
        ${blocking === undefined ? '' : causeView(blocking, nowMs)}
        ${
          details.length > 0
            ? html`<ul>
                ${details.map((words) => html`<li>${words}</li>`)}
              </ul>`
            : ''
        }
        ${advice === null ? '' : html`<p class="advice"><b>What to do:</b> ${advice}</p>`}
      </div>
      ${certainView(condition)}
    </section>
    ${otherCausesView(overview)} ${blockedView(overview)} ${alarmsView(overview)}
    ${running.map((run) => html`<section aria-label="Run ${run.id}">${runProgress(run, nowMs, { isHeld: condition.name === 'blocked', isAlone: false })}</section>`)}
    ${requestsView(overview)} ${troubleView(status)}
  </div>`;
}

function requestsView({ pending, nowMs, readsUnderWay, status }: Overview): Html {
  const list = requestGroups(pending);
  if (list.length === 0 && status.pending_reads === 0) return html``;
  return html`<section aria-labelledby="requests-title">
    <header>
      <h2 id="requests-title">Re-read requests</h2>
      <span class="quiet">
        ${count(status.pending_reads, 'read')} pending, ${quantity(readsUnderWay)} under
        way${pending.isPartial ? '; the list covers the most urgent' : ''}
      </span>
    </header>
    ${
      list.length === 0
        ? html`<p class="quiet">
            There are none. Pending reads belong to a run or a gap, or find the product of a variant.
          </p>`
        : html`<table class="blocks">
            <thead>
              <tr>
                <th scope="col">Reason</th>
                <th scope="col" class="figure">Products</th>
                <th scope="col">Suspect</th>
                <th scope="col">Oldest</th>
              </tr>
            </thead>
            <tbody>
              ${list.map(
                ({ words, products, isSuspect, sinceMs }) =>
                  html`<tr>
                    <th scope="row">${words}</th>
                    <td class="figure" data-label="products">${quantity(products)}</td>
                    <td data-label="suspect">${isSuspect ? 'yes' : 'no'}</td>
                    <td data-label="oldest">${ago(sinceMs, nowMs)}</td>
                  </tr>`,
              )}
            </tbody>
          </table>`
    }
  </section>`;
}

function troubleView(status: Status): Html {
  const { failing_reads, last_read_error, dead_letters } = status;
  if (failing_reads === 0 && dead_letters === 0) return html``;
  return html`<section aria-labelledby="trouble-title">
    <header><h2 id="trouble-title">Problems</h2></header>
    ${
      failing_reads === 0
        ? ''
        : html`<p>
            The last read of ${count(failing_reads, 'product')} failed${givenUpWords(status)}
            ${last_read_error === null ? '' : html`Latest error: ${told(last_read_error)}`}
          </p>`
    }
    ${
      dead_letters === 0
        ? ''
        : html`<p>
            ${count(dead_letters, 'delivery or item was', 'deliveries or items were')} not understood; the
            affected products are read instead: <a href="/deliveries?show=dead-letters">see which</a>.
          </p>`
    }
  </section>`;
}

function givenUpWords({ failing_reads, parked_reads }: Status): string {
  const again = 'retried only by the schedule or a full resync';
  if (parked_reads === 0) return ' and is retried automatically.';
  if (parked_reads === failing_reads) return `: refused by the store, or failed repeatedly, and ${again}.`;
  return `; of these, ${count(parked_reads, 'was', 'were')} refused by the store, or failed repeatedly, and ${again}.`;
}

function figures({ status, minutes, nowMs, pending, lag }: Overview): Html {
  const whole = minutes.at(-2);
  const tile = (name: string, value: Html | string, more: Html | string = ''): Html =>
    html`<div>
      <dt>${name}</dt>
      <dd>${value} ${more === '' ? '' : html`<span class="quiet">${more}</span>`}</dd>
    </div>`;
  return html`<dl id="figures" class="tiles" data-live>
    ${tile(
      'Last delivery',
      ago(status.last_delivery_at, nowMs),
      whole?.deliveries === null || whole === undefined
        ? ''
        : `${quantity(whole.deliveries)} in the last minute`,
    )}
    ${tile(
      'Oldest re-read',
      pending.oldestSuspectAtMs === null ? 'none' : duration(nowMs - pending.oldestSuspectAtMs),
      pending.oldestSuspectAtMs === null ? 'no re-read request waits' : 'waiting',
    )}
    ${tile('Suspect levels', quantity(status.suspect_count), html`of ${quantity(status.levels)}${status.suspect_count === 0 ? '' : html`, <a href="/stock?suspect=1" id="see-suspects">show<span class="hidden"> suspect levels</span></a>`}`)}
    ${tile(
      'Not applied yet',
      quantity(lag.deliveries),
      lag.sinceMs === null ? 'deliveries' : html`deliveries, the first ${ago(lag.sinceMs, nowMs)}`,
    )}
    ${tile('Open gaps', quantity(status.open_gaps), 'late or lost deliveries')}
    ${tile('Pending reads', quantity(status.pending_reads), `of ${count(status.products, 'product')}`)}
    ${tile('Last full read', ago(status.last_full_sync_at, nowMs), 'of the catalogue')}
    ${tile('Oldest product', ago(status.oldest_verified_at, nowMs, 'none read'), 'since its last read')}
    ${tile('Mirrored', quantity(status.variants), `variants, change feed at ${quantity(status.last_seq)}`)}
  </dl>`;
}

function operatorView({ status }: Overview): Html {
  const held = status.held_removals;
  return html`<div class="two">
    <section aria-labelledby="resync-title" class="stack">
      <header><h2 id="resync-title">Read again</h2></header>
      <form method="post" action="/page/resync" class="stack">
        <input type="hidden" name="back" value="/" />
        <p class="quiet">
          Reads every product from the store and corrects what differs. Refused products and refused
          credentials are tried once more. If a run is already under way, you join it: it does not repeat what
          it has already read, so start another one afterwards to check everything as of now.
        </p>
        <div><button class="main">Read everything</button></div>
      </form>
      <form method="post" action="/page/resync-products" class="fields" data-clear>
        <input type="hidden" name="back" value="/" />
        <label class="wide"
          >Product ids, separated by spaces
          <input name="product_ids" required inputmode="numeric" autocomplete="off" />
        </label>
        <button>Read these</button>
      </form>
    </section>
    <section aria-labelledby="removals-title">
      <header><h2 id="removals-title">Removals</h2></header>
      <div id="held" data-live>
        ${
          held === 0
            ? html`<p class="quiet">
                None is waiting. A removal of more than 20 products, variants or stock levels and 5&nbsp;% of
                them at once waits for your decision.
              </p>`
            : html`<p class="warning">
                The store no longer shows <b>${heldWords(status)}</b>, too many at once: the mirror keeps them
                until you decide. This is more often a mistake in the store than a deletion that was meant.
              </p>`
        }
      </div>
      <details id="allow">
        <summary>Allow removals</summary>
        <form method="post" action="/page/allow-removals" class="stack" data-clear>
          <input type="hidden" name="back" value="/" />
          <p>
            For one hour, everything that the store no longer shows is removed from the mirror, without a
            limit. Its rows disappear for all who read the mirror. If the store shows a product again, its
            next read restores it.
          </p>
          <label class="check">
            <input type="checkbox" name="sure" required /> I have checked in the store: these products were
            really deleted.
          </label>
          <div><button class="danger">Allow removals and read everything</button></div>
        </form>
      </details>
    </section>
  </div>`;
}
