/** Deliveries from the inbox, each item with what it did. */
import { html } from 'hono/html';
import { idText, idView } from './id-view.ts';
import type { Html } from '../../web/html.ts';
import type { DeliveredItem, DeliveryPage, DeliveryView } from '../../mirror/queries/inbox.ts';
import { bytes, count, instant, quantity, signed } from './figures.ts';
import { OUTCOME_WORDS } from './outcome-words.ts';
import { pager } from './pager.ts';
import type { WarehouseNames } from '../shared/warehouse-names.ts';
import { unreadableRows } from './unreadable-rows.ts';
import { warehouseView } from './warehouse-view.ts';

const COLUMNS = 6;

export function loggedView(
  { deliveries, next, isPruned }: DeliveryPage,
  {
    isFirst,
    show,
    names,
  }: { readonly isFirst: boolean; readonly show: string; readonly names: WarehouseNames },
): Html {
  return html`${
    deliveries.length === 0 ? html`<p class="none">There are none.</p>` : deliveriesTable(deliveries, names)
  }
  ${next === null && isPruned ? html`<p class="quiet">Older deliveries are pruned.</p>` : ''}
  ${pager({
    of: 'of the deliveries',
    first: isFirst ? null : `/deliveries?show=${show}`,
    next: next === null ? null : `/deliveries?show=${show}&before=${next}`,
  })}`;
}

function deliveriesTable(deliveries: readonly DeliveryView[], names: WarehouseNames): Html {
  return html`<table class="blocks deliveries">
    <thead>
      <tr>
        <th scope="col">Variant</th>
        <th scope="col">Warehouse</th>
        <th scope="col" class="figure">From → to</th>
        <th scope="col">Reason</th>
        <th scope="col">By</th>
        <th scope="col">Effect</th>
      </tr>
    </thead>
    ${deliveries.map((delivery) => deliveryGroup(delivery, names))}
  </table>`;
}

function deliveryGroup(delivery: DeliveryView, names: WarehouseNames): Html {
  const {
    seq,
    arrivedAtMs,
    bytes: size,
    requestId,
    items,
    itemCount,
    unreadable,
    unreadableCount,
  } = delivery;
  const rest = itemCount - (items?.length ?? 0) + unreadableCount - unreadable.length;
  const told = items === null ? 'too large for this list' : count(itemCount, 'change');
  return html`<tbody id="delivery-${seq}" class="group" data-new>
    <tr>
      <th scope="rowgroup" colspan="${COLUMNS}">
        <span class="row">
          ${instant(arrivedAtMs)}
          <span class="quiet">
            ${told} · ${bytes(size)} · inbox <a href="/deliveries/${seq}" id="inbox-${seq}">${seq}</a>
          </span>
          ${unreadableCount > 0 ? html`<span class="state bad">not understood</span>` : ''}
          <span class="quiet push">${requestId === null ? '' : html`request ${idView(requestId)}`}</span>
        </span>
      </th>
    </tr>
    ${items?.map((item) => itemRow(item, names))} ${unreadableRows(unreadable, COLUMNS)}
    ${
      rest > 0
        ? html`<tr class="more">
            <td class="whole" colspan="${COLUMNS}">
              <a href="/deliveries/${seq}">${quantity(rest)} more</a>
            </td>
          </tr>`
        : ''
    }
  </tbody>`;
}

function itemRow(item: DeliveredItem, names: WarehouseNames): Html {
  const { variantId, sku, warehouseId, reason } = item;
  return html`<tr class="more">
    <td><a href="/variants/${variantId}" class="sku">${sku ?? idText(variantId)}</a></td>
    <td class="warehouse" data-label="warehouse">${warehouseView(warehouseId, names)}</td>
    <td class="figure" data-label="from → to">
      ${quantity(item.old)} → <b>${quantity(item.new)}</b>
      <span class="quiet">${signed(item.new - item.old)}</span>
    </td>
    <td data-label="reason">${reason === null ? '–' : html`<code>${reason}</code>`}</td>
    <td class="actor" data-label="by">${actorOf(item) ?? '–'}</td>
    <td class="whole">${outcomeOf(item)}</td>
  </tr>`;
}

/** null: the mirror is about to apply it, or a new epoch has begun since. */
export function outcomeOf({ outcome }: DeliveredItem): string {
  return outcome === null ? '–' : OUTCOME_WORDS[outcome];
}

/** Who made the change; null: it was not said. */
export function actorOf({ orderId, userId }: Pick<DeliveredItem, 'orderId' | 'userId'>): Html | null {
  const by = [
    orderId === null ? null : html`order ${idView(orderId)}`,
    userId === null ? null : html`user ${idView(userId)}`,
  ].filter((each) => each !== null);
  return by.length === 0 ? null : html`${by.map((each, index) => html`${index > 0 ? ', ' : ''}${each}`)}`;
}
