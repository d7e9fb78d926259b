import { html } from 'hono/html';
import type { driftBefore } from '../../mirror/queries/changes.ts';
import type { Html } from '../../web/html.ts';
import { readReasonName, readReasonWords, type WarehouseNames } from '../shared/words.ts';
import { instant, numeric, pager, quantity, signed, table, variantLink, warehouseView } from './parts.ts';

export const DIFFERENCES_SHOWN = 100;

type Found = ReturnType<typeof driftBefore>;

const HERE = '/problems/differences';

interface Shown {
  readonly names: WarehouseNames;
  readonly isFirst: boolean;
  /** Whether the totals of bundles are listed, too. They are no faults, and may be most of all differences. */
  readonly withDerived: boolean;
}

export function differencesView({ rows, hasMore }: Found, { names, isFirst, withDerived }: Shown): Html {
  const first = withDerived ? `${HERE}?derived=1` : HERE;
  return html`<article>
    <header><h1>Corrected differences</h1></header>
    <p>
      Quantities that reads found to differ from the store, and corrected.
      ${withDerived ? '' : html`<a href="${HERE}?derived=1">List the totals of bundles too</a>, which change without a webhook.`}
    </p>
    ${table(
      [
        'Found',
        'SKU',
        'Name',
        'Warehouse',
        numeric('From'),
        numeric('To'),
        numeric('Change'),
        'Probable reason',
      ],
      rows.map((row) => differenceRow(row, names)),
      isFirst ? 'No read has found a difference.' : 'There are no more; old ones are pruned.',
    )}
    ${pager({
      first: isFirst ? null : first,
      next: hasMore ? `${first}${withDerived ? '&' : '?'}before=${rows.at(-1)?.seq}` : null,
    })}
  </article>`;
}

function differenceRow(row: Found['rows'][number], names: WarehouseNames) {
  const { old_qty: oldQty, new_qty: newQty, warehouse_id: warehouseId } = row;
  const reason = row.reason ?? '';
  return {
    id: `difference-${row.seq}`,
    cells: [
      instant(row.recorded_at),
      variantLink({ variantId: row.variant_id, sku: row.sku }),
      [row.product_name, row.variant_name].filter((name) => name !== null && name !== '').join(', '),
      warehouseId === null ? 'total' : warehouseView(warehouseId, names),
      quantity(oldQty),
      html`<b>${quantity(newQty)}</b>`,
      oldQty === null || newQty === null ? '–' : signed(newQty - oldQty),
      html`${readReasonName(reason)} <span class="quiet">${readReasonWords(reason)}</span>`,
    ],
  };
}
