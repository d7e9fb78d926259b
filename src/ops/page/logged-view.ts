/** Deliveries from the event log, each item with its effect. */
import { html } from 'hono/html';
import { idText, idView } from './id-view.ts';
import type { Html } from '../../web/html.ts';
import type { DeliveryPage, LoggedDelivery } from '../../mirror/queries/page/deliveries.ts';
import type { LoggedItem } from '../../mirror/queries/page/effects.ts';
import { suspicionWords, outcomeWords } from './effect-words.ts';
import { bytes, count, instant, quantity, signed } from './figures.ts';
import { pager } from './pager.ts';
import type { WarehouseNames } from '../shared/warehouse-names.ts';
import { unreadableRows } from './unreadable-rows.ts';
import { warehouseView } from './warehouse-view.ts';

const COLUMNS = 6;

export function loggedView(
  { deliveries, next, isPruned }: DeliveryPage,
  { isFirst, names }: { readonly isFirst: boolean; readonly names: WarehouseNames },
): Html {
  return html`<p class="quiet">
      The effect of an item is worked out from the mirror’s figures before and after it, and from the open
      re-read requests. An identical repeat of a delivery is answered 204, but neither kept nor listed.
    </p>
    ${
      deliveries.length === 0
        ? html`<p class="none">
            ${next === null ? 'There are none.' : 'None in this part of the event log, which has other entries too.'}
          </p>`
        : deliveriesTable(deliveries, names)
    }
    ${next === null && isPruned ? html`<p class="quiet">Older deliveries are pruned.</p>` : ''}
    ${pager({
      of: 'of the deliveries',
      first: isFirst ? null : '/deliveries',
      next: next === null ? null : `/deliveries?before=${next}`,
    })}`;
}

function deliveriesTable(deliveries: readonly LoggedDelivery[], names: WarehouseNames): Html {
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

function deliveryGroup(delivery: LoggedDelivery, names: WarehouseNames): Html {
  const { seq, atMs, bytes: size, requestId, items, itemCount, unreadable, unreadableCount } = delivery;
  const rest = itemCount - (items?.length ?? 0) + unreadableCount - unreadable.length;
  const told = items === null ? 'too large for this list' : count(itemCount, 'change');
  return html`<tbody id="delivery-${seq}" class="group" data-new>
    <tr>
      <th scope="rowgroup" colspan="${COLUMNS}">
        <span class="row">
          ${instant(atMs)}
          <span class="quiet">
            ${told} · ${bytes(size)} · log <a href="/deliveries/${seq}" id="log-${seq}">${seq}</a>
          </span>
          ${unreadableCount > 0 ? html`<span class="state bad">not understood</span>` : ''}
          <span class="quiet push">${requestId === null ? '' : html`request ${idView(requestId)}`}</span>
        </span>
      </th>
    </tr>
    ${items?.map((item) => itemRow(item, atMs, names))} ${unreadableRows(unreadable, COLUMNS)}
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

function itemRow(item: LoggedItem, atMs: number, names: WarehouseNames): Html {
  const { variantId, sku, warehouseId, reason, effect } = item;
  const suspicion = suspicionWords(effect);
  return html`<tr class="more">
    <td><a href="/variants/${variantId}" class="sku">${sku ?? idText(variantId)}</a></td>
    <td class="warehouse" data-label="warehouse">${warehouseView(warehouseId, names)}</td>
    <td class="figure" data-label="from → to">
      ${quantity(item.old)} → <b>${quantity(item.new)}</b>
      <span class="quiet">${signed(item.new - item.old)}</span>
    </td>
    <td data-label="reason">${reason === null ? '–' : html`<code>${reason}</code>`}</td>
    <td class="actor" data-label="by">${actorOf(item) ?? '–'}</td>
    <td class="whole">
      ${outcomeWords(item, atMs)}
      ${suspicion === null ? '' : html`<span class="state ${effect.suspicion === 'open' ? 'odd' : ''}">${suspicion}</span>`}
    </td>
  </tr>`;
}

/** Who made the change; null: it was not said. */
export function actorOf({ orderId, userId }: Pick<LoggedItem, 'orderId' | 'userId'>): Html | null {
  const by = [
    orderId === null ? null : html`order ${idView(orderId)}`,
    userId === null ? null : html`user ${idView(userId)}`,
  ].filter((each) => each !== null);
  return by.length === 0 ? null : html`${by.map((each, index) => html`${index > 0 ? ', ' : ''}${each}`)}`;
}
