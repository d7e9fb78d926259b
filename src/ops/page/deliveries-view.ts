import { html, raw } from 'hono/html';
import type { Unreadable } from '../../core/input.ts';
import type { ChangeBranch } from '../../core/merge/change-outcome.ts';
import type {
  DeliveredItem,
  DeliveryPage,
  DeliveryView,
  WholeDelivery,
} from '../../mirror/queries/deliveries.ts';
import type { Html } from '../../web/html.ts';
import type { WarehouseNames } from '../shared/words.ts';
import {
  count,
  facts,
  idView,
  instant,
  numeric,
  pager,
  quantity,
  signed,
  table,
  variantLink,
  warehouseView,
} from './parts.ts';

interface Shown {
  readonly names: WarehouseNames;
  readonly deadLettersOnly: boolean;
  readonly isFirst: boolean;
}

export function deliveriesView(page: DeliveryPage, { names, deadLettersOnly, isFirst }: Shown): Html {
  const address = deadLettersOnly ? '/deliveries?show=dead-letters' : '/deliveries?show=all';
  const none = deadLettersOnly ? 'All kept deliveries were understood.' : 'No delivery has arrived yet.';
  return html`<article>
    <header><h1>${deadLettersOnly ? 'Deliveries not understood' : 'Deliveries'}</h1></header>
    ${table(
      ['Delivery', 'Arrived', 'Items', 'Request'],
      page.deliveries.map((delivery) => deliveryRow(delivery, names)),
      isFirst ? none : 'There are no more.',
    )}
    ${page.next === null && page.isPruned ? html`<p class="quiet">Older deliveries are pruned.</p>` : ''}
    ${pager({
      first: isFirst ? null : address,
      next: page.next === null ? null : `${address}&before=${page.next}`,
    })}
  </article>`;
}

function deliveryRow(delivery: DeliveryView, names: WarehouseNames) {
  const { seq, arrivedAtMs, items, itemCount, unreadable, unreadableCount, requestId } = delivery;
  const rest = itemCount - (items?.length ?? 0) + unreadableCount - unreadable.length;
  return {
    id: `delivery-${seq}`,
    cells: [
      html`<a href="/deliveries/${seq}">${seq}</a>`,
      instant(arrivedAtMs),
      html`${items?.map(
        (item) =>
          html`<div>
            ${variantLink(item)} ${quantity(item.old)} → <b>${quantity(item.new)}</b> in
            ${warehouseView(item.warehouseId, names)}: <span class="quiet">${outcomeView(item)}</span>
          </div>`,
      )}
      ${unreadable.map((each) => html`<div>${unreadableView(each)}</div>`)}
      ${items === null ? html`<div class="quiet">Too large for this list</div>` : ''}
      ${items !== null && rest > 0 ? html`<a href="/deliveries/${seq}">${quantity(rest)} more</a>` : ''}
      ${items !== null && itemCount + unreadableCount === 0 ? html`<span class="quiet">none</span>` : ''}`,
      requestId === null ? '–' : idView(requestId),
    ],
  };
}

export function deliveryView(delivery: WholeDelivery, names: WarehouseNames): Html {
  const { seq, arrivedAtMs, bytes, requestId, sentAtMs, items, itemCount } = delivery;
  const { unreadable, unreadableCount, body, isBodyWhole, isUtf8 } = delivery;
  const rest = itemCount - (items?.length ?? 0) + unreadableCount - unreadable.length;
  const pretty = isBodyWhole ? formatted(body) : null;
  const all: readonly (readonly [name: string, value: Html | string])[] = [
    ['Arrived', instant(arrivedAtMs)],
    ['Sent', sentAtMs === null ? 'not stated' : instant(sentAtMs)],
    ['Request', requestId === null ? 'not stated' : idView(requestId)],
  ];
  return html`<article>
      <header>
        <h1>Delivery ${seq}</h1>
        ${unreadableCount > 0 ? html`<span class="state bad">not understood</span>` : html`<span class="state good">understood</span>`}
      </header>
      ${facts(all)}
    </article>
    <article aria-labelledby="items-title">
      <header><h2 id="items-title">Items</h2></header>
      ${table(
        ['SKU', 'Warehouse', numeric('Old → new'), numeric('Change'), 'Reason', 'By', 'Effect'],
        (items ?? []).map((item, at) => itemRow(item, at, names)),
        noItems(delivery),
      )}
      ${unreadable.map((each) => html`<p class="problem">${unreadableView(each)}</p>`)}
      ${rest > 0 && items !== null ? html`<p class="quiet">${quantity(rest)} more are not shown.</p>` : ''}
    </article>
    <article aria-labelledby="body-title">
      <header>
        <h2 id="body-title">Body</h2>
        <span class="quiet">
          ${count(bytes, 'byte')} as
          received${isBodyWhole ? '' : '; only the first part is shown'}${isUtf8 ? '' : '; � replaces bytes that are not UTF-8'}
        </span>
      </header>
      ${pretty === null ? '' : html`<pre id="body-pretty" tabindex="0" aria-label="Body, formatted">${pretty}</pre>`}
      <details ${pretty === null ? raw('open') : ''}>
        <summary>As received</summary>
        <pre id="body-raw" tabindex="0" aria-label="Body as received">${body}</pre>
      </details>
    </article>`;
}

function noItems({ items, unreadableCount }: WholeDelivery): string {
  if (items === null) return 'The body is too large: its items are not shown.';
  return unreadableCount > 0 ? 'No item was understood.' : 'It has no items.';
}

/** In every Node that runs this (since 21); the compiler does not know it yet. */
const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => unknown };

interface Parsed {
  readonly source?: string;
}

/** @returns the body with line breaks and its numbers as they were sent; null if it is not JSON. */
function formatted(body: string): string | null {
  const asSent = (_key: string, value: unknown, { source }: Parsed = {}): unknown =>
    typeof value === 'number' && source !== undefined ? rawJSON(source) : value;
  try {
    return JSON.stringify(JSON.parse(body, asSent), null, 2);
  } catch {
    return null;
  }
}

function itemRow(item: DeliveredItem, at: number, names: WarehouseNames) {
  return {
    id: `item-${at}`,
    cells: [
      variantLink(item),
      html`<a href="/variants/${item.variantId}#level-${item.warehouseId}"
        >${warehouseView(item.warehouseId, names)}</a
      >`,
      html`${quantity(item.old)} → <b>${quantity(item.new)}</b>`,
      signed(item.new - item.old),
      item.reason === null ? '–' : html`<code>${item.reason}</code>`,
      actorView(item),
      outcomeView(item),
    ],
  };
}

function unreadableView({ problem, variantId }: Unreadable): Html {
  return variantId === null
    ? html`${problem}. The products that changed last are read instead: see
        <a href="/problems/differences">what reads found</a>.`
    : html`${problem}. The product of ${variantLink({ variantId })} is read instead: see
      ${foundLink(variantId, 'what the read found')}.`;
}

export function actorView({ orderId, userId }: Pick<DeliveredItem, 'orderId' | 'userId'>): Html {
  if (orderId === null && userId === null) return html`–`;
  return html`${orderId === null ? '' : html`order ${idView(orderId)}`}
  ${userId === null ? '' : html`user ${idView(userId)}`}`;
}

const foundLink = (variantId: string, words: string): Html =>
  html`<a href="/variants/${variantId}#history">${words}</a>`;

/** The outcome is null if the item is not applied yet, or was applied in an earlier epoch. */
function outcomeView({ outcome, variantId }: DeliveredItem): Html {
  if (outcome === null) return html`–`;
  return ORDERS_READ.has(outcome)
    ? html`${OUTCOMES[outcome]}; ${foundLink(variantId, 'see what a read found')}`
    : html`${OUTCOMES[outcome]}`;
}

/** Outcomes after which the product is read, unless a late delivery closes the gap first. */
const ORDERS_READ: ReadonlySet<ChangeBranch> = new Set([
  '2 stale, yet follows',
  '3 order unknown',
  '4b uncertain',
  '4c gap',
  'gone, uncertain',
  'future-dated',
]);

const OUTCOMES: Readonly<Record<ChangeBranch, string>> = {
  '1 new level': 'applied: the first value of this stock level',
  '2 stale': 'not applied: a later change had already arrived',
  '2 stale, yet follows': 'not applied: older, but it continues the chain',
  '3 duplicate': 'no change: already applied',
  '3 seen by the read': 'no change: a read already included it',
  '3 follows': 'applied: it continues another change of the same instant',
  '3 precedes': 'not applied: it precedes another change of the same instant',
  '3 order unknown': 'ambiguous: another change has the same instant',
  '4a seen by the read': 'no change: a read already included it',
  '4b confirmed': 'no change: a read showed the same value',
  '4b uncertain': 'a read may have included it',
  '4c follows': 'applied',
  '4c gap': 'applied, after a gap: a delivery is late or lost',
  'gone, seen by the read': 'not applied: the store removed the level afterwards',
  'gone, uncertain': 'not applied: the level was removed, perhaps added again',
  'gone, shown again': 'applied: the removed level is back',
  'future-dated': 'applied, but its time, which lies in the future, is ignored',
};
