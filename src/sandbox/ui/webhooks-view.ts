import { html } from 'hono/html';
import type { DeliveryRecord } from '../network/deliveries.ts';
import type { Delivery } from '../network/webhooks.ts';
import type { PageDeps } from './deps.ts';
import type { Html } from '../../web/html.ts';
import { timeView } from './time-view.ts';

const DELIVERIES_SHOWN = 30;
/** Further items of a delivery are only counted; GET /sandbox/deliveries has them. */
const ITEMS_SHOWN = 8;

export function webhooksView({ deliveries, network }: PageDeps): Html {
  const shown = deliveries.records.slice(-DELIVERIES_SHOWN).reverse();
  const { counts } = deliveries;
  return html`<section id="webhooks" aria-labelledby="webhooks-title">
    <header><h2 id="webhooks-title">Webhooks</h2></header>
    <p id="webhooks-told" class="quiet" data-live="whole">
      ${
        network.sends
          ? html`Sent once each to <code>${network.webhookUrl ?? ''}</code>: ${counts.answered} answered,
              ${counts.timeout} timed out, ${counts.failed} not reached, ${counts.lost} lost on purpose,
              ${counts.pending} in transit.`
          : html`<b>No webhooks are sent:</b>
              ${network.enabled ? 'no URL is set' : 'the event is switched off'}. See
              <a href="#settings">the settings</a>.`
      }
    </p>
    <p id="webhooks-help" data-live="whole">
      ${helpFor(
        shown.find(({ outcome }) => outcome !== 'pending'),
        network,
      )}
    </p>
    <ol id="webhooks-list" class="cards list" data-live="rows">
      ${shown.map(deliveryCard)}
    </ol>
  </section>`;
}

/** Help about the latest finished delivery. */
function helpFor(latest: DeliveryRecord | undefined, { webhookUrl }: PageDeps['network']): Html {
  if (latest?.outcome === 'failed')
    return html`<span class="advice"
      >No program listens at <code>${webhookUrl ?? ''}</code>: start your receiver.</span
    >`;
  if (latest?.outcome === 'timeout')
    return html`<span class="advice"
      >The receiver took longer than one second: answer first, process afterwards.</span
    >`;
  if (latest?.status === 401)
    return html`<span class="advice"
      >The receiver refused the signature: check that it uses the webhook secret shown on this page.</span
    >`;
  return html``;
}

function deliveryCard(record: DeliveryRecord): Html {
  const { delivery, duplicate } = record;
  const id = `hook-${delivery.requestId}${duplicate ? '-again' : ''}`;
  const more = delivery.items.length - ITEMS_SHOWN;
  return html`<li id="${id}">
    <div class="row">
      <span id="${id}-fate" data-live="whole">${fateOf(record)}</span>
      ${duplicate ? html`<span class="quiet">repeat of the same bytes</span>` : ''}
      <span class="quiet push">${timeView(record.createdAtMs)}</span>
    </div>
    <ul>
      ${delivery.items.slice(0, ITEMS_SHOWN).map(itemLine)}
      ${more > 0 ? html`<li class="quiet">and ${more} more</li>` : ''}
    </ul>
    <div>
      <a href="/webhooks/${encodeURIComponent(delivery.requestId)}"><code>${delivery.requestId}</code></a>
    </div>
  </li>`;
}

export function fateOf({ outcome, status, ms, sentAtMs }: DeliveryRecord): Html {
  switch (outcome) {
    case 'pending':
      return html`<b class="state">${sentAtMs === null ? 'waiting' : 'sent'}</b>`;
    case 'answered':
      return html`<b class="state ${isAccepted(status) ? 'good' : 'bad'}">${status}</b> in
        ${Math.round(ms ?? 0)} ms`;
    case 'timeout':
      return html`<b class="state bad">no answer</b> in ${Math.round(ms ?? 0)} ms`;
    case 'failed':
      return html`<b class="state bad">not reached</b>`;
    case 'lost':
      return html`<b class="state odd">lost</b> never sent`;
  }
}

function isAccepted(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

function itemLine(item: Delivery['items'][number]): Html {
  const sku = item.sku === '' ? item.id : item.sku;
  const order = item.order_id === undefined ? '' : html` <span class="quiet">order ${item.order_id}</span>`;
  return html`<li>
    <span class="sku">${sku}</span> <b>${item.old} → ${item.new}</b> ${item.reason}
    <span class="quiet">in ${item.warehouse_id}</span>${order}
  </li>`;
}
