import { html } from 'hono/html';
import type { driftBefore } from '../../mirror/queries/changes.ts';
import type { Html } from '../../web/html.ts';
import { causeName, causeWords, type WarehouseNames } from '../shared/words.ts';
import { instant, pager, quantity, signed, table, variantLink, warehouseView } from './parts.ts';

export const DIFFERENCES_SHOWN = 100;

type Found = ReturnType<typeof driftBefore>;

export function differencesView(
  { rows, hasMore }: Found,
  { names, isFirst }: { readonly names: WarehouseNames; readonly isFirst: boolean },
): Html {
  const here = '/problems/differences';
  return html`<article>
    <header>
      <h1>Corrected differences</h1>
      <a href="/api/drift">as JSON</a>
    </header>
    <p>Reads found that the mirror differed from the store, and corrected these quantities.</p>
    ${table(
      ['Found', 'SKU', 'Name', 'Warehouse', '#From', '#To', '#Change', 'Probable reason'],
      rows.map((row) => differenceRow(row, names)),
      isFirst ? 'No read has found a difference.' : 'There are no more; old ones are pruned.',
    )}
    ${pager({
      first: isFirst ? null : here,
      next: hasMore ? `${here}?before=${rows.at(-1)?.seq}` : null,
    })}
  </article>`;
}

function differenceRow(row: Found['rows'][number], names: WarehouseNames) {
  const text = (name: string): string | null => {
    const value = row[name];
    return typeof value === 'string' ? value : null;
  };
  const amount = (name: string): number | null => {
    const value = row[name];
    return typeof value === 'number' ? value : null;
  };
  const warehouseId = text('warehouse_id');
  const reason = text('reason') ?? '';
  const [oldQty, newQty] = [amount('old_qty'), amount('new_qty')];
  return {
    id: `difference-${row.seq}`,
    cells: [
      instant(amount('recorded_at') ?? 0),
      variantLink({ variantId: text('variant_id') ?? '', sku: text('sku') }),
      [text('product_name'), text('variant_name')].filter((name) => name !== null && name !== '').join(', '),
      warehouseId === null ? 'total' : warehouseView(warehouseId, names),
      quantity(oldQty),
      html`<b>${quantity(newQty)}</b>`,
      oldQty === null || newQty === null ? '–' : signed(newQty - oldQty),
      html`${causeName(reason)} <span class="quiet">${causeWords(reason)}</span>`,
    ],
  };
}
