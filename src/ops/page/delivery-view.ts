/** One delivery in full: what is kept of it, what each of its items did, and its body. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import type { DeliveredItem, WholeDelivery } from '../../mirror/queries/inbox.ts';
import { bytes, count, instant, millis, quantity, signed } from './figures.ts';
import { idText, idView } from './id-view.ts';
import { indentedJson } from './indented-json.ts';
import { actorOf, outcomeOf } from './logged-view.ts';
import type { WarehouseNames } from '../shared/warehouse-names.ts';
import { unreadableRows } from './unreadable-rows.ts';
import { warehouseView } from './warehouse-view.ts';

const COLUMNS = 5;

export function deliveryView(delivery: WholeDelivery, names: WarehouseNames): Html {
  return html`${facts(delivery)}
    <section aria-labelledby="items-title">
      <header>
        <h2 id="items-title">What each item did</h2>
        <span class="quiet"
          >${delivery.items === null ? 'too large to show' : count(delivery.itemCount, 'change')}</span
        >
      </header>
      <div id="delivery" data-live>${items(delivery, names)}</div>
    </section>
    ${body(delivery)}`;
}

function facts(delivery: WholeDelivery): Html {
  const { seq, arrivedAtMs, bytes: size, requestId, sentAtMs, sha256, unreadableCount } = delivery;
  return html`<section aria-labelledby="kept-title">
    <header>
      <h2 id="kept-title">What is kept of it</h2>
      ${unreadableCount > 0 ? html`<span class="state bad">not understood</span>` : html`<span class="state good">understood</span>`}
    </header>
    <dl class="facts">
      <dt>Arrived</dt>
      <dd>${instant(arrivedAtMs)}, row ${seq} of the inbox</dd>
      <dt>Sent</dt>
      <dd>
        ${
          sentAtMs === null
            ? 'not said'
            : html`${instant(sentAtMs)} by the store’s clock, ${apart(arrivedAtMs - sentAtMs)}`
        }
      </dd>
      <dt>Request</dt>
      <dd>${requestId === null ? 'not said' : idView(requestId)}</dd>
      <dt>Body</dt>
      <dd>${bytes(size)}, SHA-256 ${idView(sha256)}</dd>
      <dt>Verified</dt>
      <dd>
        on arrival: its <code>X-Service-Signature</code> was the HMAC-SHA256 of exactly these bytes with
        <code>SERVICE_WEBHOOK_SECRET</code> or the one before it. Nothing else is kept or answered 204.
      </dd>
      <dt>Headers</dt>
      <dd>are not kept: nothing in them decides anything once the signature is verified</dd>
    </dl>
  </section>`;
}

function apart(ms: number): string {
  return ms >= 0 ? `${millis(ms)} before` : `${millis(-ms)} after: the clocks differ`;
}

function items(
  { items: shown, itemCount, unreadable, unreadableCount }: WholeDelivery,
  names: WarehouseNames,
): Html {
  if (shown === null) return html`<p class="none">The body is too large: its items are not shown.</p>`;
  const rest = itemCount - shown.length + unreadableCount - unreadable.length;
  return html`<table class="blocks deliveries">
    <thead>
      <tr>
        <th scope="col">Variant</th>
        <th scope="col">Warehouse</th>
        <th scope="col" class="figure">The store said</th>
        <th scope="col">Why</th>
        <th scope="col">What was done</th>
      </tr>
    </thead>
    <tbody>
      ${shown.map((item) => itemRow(item, names))} ${unreadableRows(unreadable, COLUMNS)}
      ${
        rest > 0
          ? html`<tr class="more">
              <td class="whole" colspan="${COLUMNS}">${quantity(rest)} more are not shown</td>
            </tr>`
          : ''
      }
    </tbody>
  </table>`;
}

function itemRow(item: DeliveredItem, names: WarehouseNames): Html {
  const { variantId, sku, warehouseId, reason } = item;
  const actor = actorOf(item);
  return html`<tr>
    <td><a href="/variants/${variantId}" class="sku">${sku ?? idText(variantId)}</a></td>
    <td class="warehouse" data-label="warehouse">
      <a href="/variants/${variantId}#level-${warehouseId}">${warehouseView(warehouseId, names)}</a>
    </td>
    <td class="figure whole" data-label="the store said">
      ${quantity(item.old)} → <b>${quantity(item.new)}</b>
      <span class="quiet">${signed(item.new - item.old)}</span>
    </td>
    <td class="actor" data-label="why">
      ${reason === null ? '–' : html`<code>${reason}</code>`}${actor === null ? '' : html`, ${actor}`}
    </td>
    <td class="whole">${outcomeOf(item)}</td>
  </tr>`;
}

function body({ body: text, bytes: size, isBodyWhole, isUtf8 }: WholeDelivery): Html {
  const indented = isBodyWhole ? indentedJson(text) : null;
  const remarks = [
    isBodyWhole ? null : `It has ${bytes(size)}; only the first part of it is shown.`,
    isUtf8 ? null : 'Some bytes are no UTF-8: � stands for them.',
  ].filter((each) => each !== null);
  return html`<section aria-labelledby="body-title">
    <header>
      <h2 id="body-title">Body</h2>
      <span class="quiet">${remarks.join(' ')}</span>
    </header>
    ${
      indented === null
        ? isBodyWhole
          ? html`<p class="quiet">It is no JSON.</p>`
          : ''
        : html`<h3>As JSON</h3>
            <pre id="body-json" tabindex="0" aria-label="Body as JSON">${indented}</pre>`
    }
    <h3>As received</h3>
    <pre id="body-raw" tabindex="0" aria-label="Body as received">${text === '' ? '(no body)' : text}</pre>
  </section>`;
}
