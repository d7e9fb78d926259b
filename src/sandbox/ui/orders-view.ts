import { html } from 'hono/html';
import { shippingTypes } from '../../store-api/contract/order-schemas.ts';
import type { PlacedOrder } from '../orders/order-book.ts';
import type { PageDeps } from './deps.ts';
import type { Html } from '../../web/html.ts';
import { timeView } from './time-view.ts';
import { addressOf, labelOf } from './view.ts';
import type { Refused, View } from './view.ts';

const ORDERS_SHOWN = 20;

export function ordersView(
  { book, truth }: PageDeps,
  { view, refused }: { readonly view: View; readonly refused: Refused | undefined },
): Html {
  const form = refused?.action === 'order' ? refused.form : undefined;
  const chosen = view.orderVariantId === null ? undefined : truth.variant(view.orderVariantId);
  const by = form?.get('by') ?? (chosen === undefined || isUniqueSku(truth, chosen.sku) ? 'sku' : 'variant');
  const item = form?.get('item') ?? (by === 'sku' ? chosen?.sku : chosen?.id) ?? '';
  const shipping = form?.get('shipping_type') ?? 'flash';
  const shipsUnpaid = form === undefined || form.get('ship_before_pay') !== null;
  const orders = book.recent(ORDERS_SHOWN);
  return html`<section id="orders" aria-labelledby="orders-title">
    <header><h2 id="orders-title">Orders</h2></header>
    <form id="order" method="post" action="${addressOf('/page/order', view)}" class="grid" data-clear>
      <label
        >Order by
        <select name="by">
          ${option('sku', 'SKU', by)}${option('variant', 'variant id', by)}
        </select></label
      >
      <label class="wide"
        >SKU or id <input name="item" value="${item}" required autocomplete="off" spellcheck="false"
      /></label>
      <label class="units"
        >Units <input name="qty" value="${form?.get('qty') ?? '1'}" inputmode="numeric" size="4" required
      /></label>
      <label
        >Courier
        <select name="shipping_type">
          ${shippingTypes.map((type) => option(type, type, shipping))}
        </select></label
      >
      <label class="check wide"
        ><input type="checkbox" name="ship_before_pay" ${shipsUnpaid ? html`checked` : ''} /> ship
        unpaid</label
      >
      <button class="main">Place order</button>
    </form>
    <p id="orders-none" class="quiet" data-live="whole">
      ${
        orders.length === 0
          ? 'No orders yet, from here or from POST /v1/order/create. Orders of the random traffic are not listed.'
          : ''
      }
    </p>
    <ol id="orders-list" class="cards list" data-live="rows">
      ${orders.map((order) => orderCard(order, view))}
    </ol>
  </section>`;
}

function isUniqueSku(truth: PageDeps['truth'], sku: string | null): boolean {
  return (
    sku !== null &&
    truth.variants.filter((each) => each.sku === sku && truth.variant(each.id) !== undefined).length === 1
  );
}

function option(value: string, words: string, chosen: string): Html {
  return html`<option value="${value}" ${value === chosen ? html`selected` : ''}>${words}</option>`;
}

function orderCard(order: PlacedOrder, view: View): Html {
  const { stock, lines, request } = order;
  const id = `order-${stock.id}`;
  const made = order.origin === null ? 'placed here or by hand' : `by ${order.origin}`;
  return html`<li id="${id}">
    <div class="row">
      <span id="${id}-state" data-live="whole">${stateOf(order)}</span>
      <code>${stock.id}</code>
      <span class="quiet push">${timeView(stock.createTimeMs)}</span>
    </div>
    <div>
      ${lines.map(({ variant, qty }) => html`<span class="line">${qty} × ${labelOf(variant)}</span> `)}
    </div>
    <div class="quiet">
      ${request.shipping_type},
      ${made}${
        request.external_order_id === undefined ? '' : html`, as <code>${request.external_order_id}</code>`
      }
    </div>
    <div id="${id}-shipments" data-live="whole">${shipmentsOf(order)}</div>
    <div id="${id}-deeds" class="row" data-live="whole">${deedsOf(order, view)}</div>
  </li>`;
}

function stateOf({ stock, paidTimeMs }: PlacedOrder): Html {
  const paid = paidTimeMs === null ? '' : ', paid';
  return html`<b class="state ${stock.state}">${stock.state}${paid}</b>${
      stock.cancelReason === null ? '' : html` <span class="quiet">${stock.cancelReason}</span>`
    }`;
}

function shipmentsOf({ stock, shipments, request, paidTimeMs }: PlacedOrder): Html {
  if (shipments.length > 0) {
    return html`${shipments.map(
      (each) => html`<span class="line">shipment <code>${each.tracking_number}</code></span> `,
    )}`;
  }
  if (stock.state === 'canceled') return html``;
  const waits = request.ship_before_pay !== true && paidTimeMs === null;
  return html`<span class="quiet">no shipment yet${waits ? ': waiting for payment' : ''}</span>`;
}

function deedsOf({ stock, paidTimeMs }: PlacedOrder, view: View): Html {
  if (stock.state !== 'open') return html``;
  const deed = (name: string, words: string): Html =>
    html`<form method="post" action="${addressOf(`/page/${name}`, view)}">
      <input type="hidden" name="order_id" value="${stock.id}" />
      <button id="${name}-${stock.id}" class="light">
        ${words}<span class="hidden"> order ${stock.id}</span>
      </button>
    </form>`;
  return html`${paidTimeMs === null ? deed('pay', 'Pay') : ''}${deed('cancel', 'Cancel')}`;
}
