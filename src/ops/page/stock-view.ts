import { html } from 'hono/html';
import type { StockCursor } from '../../mirror/queries/page/filters.ts';
import type { StockLevelRow, StockPage, StockVariant } from '../../mirror/queries/page/stock.ts';
import { agoText, instant, quantity } from './figures.ts';
import { idText } from './id-view.ts';
import type { Html } from '../../web/html.ts';
import { pager } from './pager.ts';
import type { WarehouseNames } from '../shared/warehouse-names.ts';
import { warehouseView } from './warehouse-view.ts';

interface StockView {
  readonly text: string;
  readonly warehouseId: string;
  readonly suspect: boolean;
  readonly after: StockCursor | null;
}

export function readStockView(params: URLSearchParams): StockView {
  const list = params.get('after');
  return {
    text: params.get('q')?.trim() ?? '',
    warehouseId: params.get('warehouse')?.trim() ?? '',
    suspect: params.get('suspect') !== null,
    after: list === null ? null : { list, key: params.getAll('key') },
  };
}

function addressOf(view: StockView): string {
  const params = new URLSearchParams();
  if (view.text !== '') params.set('q', view.text);
  if (view.warehouseId !== '') params.set('warehouse', view.warehouseId);
  if (view.suspect) params.set('suspect', '1');
  if (view.after !== null) {
    params.set('after', view.after.list);
    for (const part of view.after.key) params.append('key', part);
  }
  return params.size === 0 ? '/stock' : `/stock?${params.toString()}`;
}

interface Shown {
  readonly names: WarehouseNames;
  readonly nowMs: number;
}

export function stockView(page: StockPage, view: StockView, shown: Shown): Html {
  return html`<section aria-label="Stock">
    <form role="search" action="/stock" class="fields">
      <label class="wide"
        >SKU, name, or the id of a variant or product
        <input type="search" name="q" value="${view.text}" autocomplete="off" />
      </label>
      <label
        >Warehouse <input name="warehouse" value="${view.warehouseId}" inputmode="numeric" autocomplete="off"
      /></label>
      <label class="check"
        ><input type="checkbox" name="suspect" value="1" ${view.suspect ? 'checked' : ''} /> Suspect
        only</label
      >
      <button class="main">Search</button>
    </form>
    <div id="stock-list" data-live>
      ${
        page.variants.length === 0
          ? html`<p class="none">${noneFound(page, view)}</p>`
          : html`<table class="blocks stock">
              <thead>
                <tr>
                  <th scope="col">Variant</th>
                  <th scope="col">Warehouse</th>
                  <th scope="col" class="figure">To sell</th>
                  <th scope="col" class="figure">On hand</th>
                  <th scope="col" class="figure">Reserved</th>
                  <th scope="col">Freshness</th>
                </tr>
              </thead>
              ${page.variants.map((variant) => variantRows(variant, view.warehouseId, shown))}
            </table>`
      }
      ${pager({
        of: 'of the stock',
        first: view.after === null ? null : addressOf({ ...view, after: null }),
        firstWords: 'First page',
        next: page.next === null ? null : addressOf({ ...view, after: page.next }),
        nextWords: page.isPartial ? 'Search further' : 'Next',
      })}
    </div>
  </section>`;
}

function noneFound({ isPartial }: StockPage, { text, warehouseId, suspect, after }: StockView): string {
  if (isPartial) return 'Nothing found so far: the search covers a part of a large mirror at a time.';
  if (after !== null) return 'There are no more.';
  const where = warehouseId === '' ? '' : ` in warehouse ${warehouseId}`;
  if (text !== '') return `Nothing${suspect ? ' suspect' : ''} matches “${text}”${where}.`;
  if (suspect) return `Nothing is suspect${where}.`;
  return warehouseId === '' ? 'Nothing is mirrored yet.' : `No variant has stock${where}.`;
}

function variantRows(variant: StockVariant, warehouseId: string, shown: Shown): Html {
  const levels = variant.levels.filter((level) => warehouseId === '' || level.warehouseId === warehouseId);
  return html`<tbody class="group">
    ${levels.length === 0 ? totalRow(variant, shown.nowMs) : levels.map((level, index) => levelRow(variant, level, index, shown))}
  </tbody>`;
}

function variantLink({ variantId, sku, name, productName }: StockVariant): Html {
  return html`<a id="variant-${variantId}" href="/variants/${variantId}"
      ><span class="sku">${sku ?? html`variant ${idText(variantId)}`}</span></a
    >
    ${[productName, name].filter((each) => each !== null && each !== '').join(', ')}`;
}

function levelRow(variant: StockVariant, level: StockLevelRow, index: number, { names, nowMs }: Shown): Html {
  return html`<tr class="${index > 0 ? 'more' : ''}">
    <th scope="row" class="variant">
      ${index > 0 ? html`<span class="hidden">${variant.sku ?? variant.variantId}</span>` : variantLink(variant)}
    </th>
    <td class="warehouse" data-label="warehouse">${warehouseView(level.warehouseId, names)}</td>
    <td class="figure strong" data-label="to sell">${quantity(level.qty)}</td>
    <td class="figure" data-label="on hand">${quantity(level.onHand)}</td>
    <td class="figure" data-label="reserved">${quantity(level.reservedQty)}</td>
    <td class="whole">${freshness(level, `${variant.variantId}-${level.warehouseId}`, nowMs)}</td>
  </tr>`;
}

/** A variant without warehouse rows: a bundle, or one whose warehouses the store does not show. */
function totalRow(variant: StockVariant, nowMs: number): Html {
  return html`<tr>
    <th scope="row" class="variant">${variantLink(variant)}</th>
    <td class="quiet" data-label="warehouse">${KINDS[variant.kind] ?? variant.kind}</td>
    <td class="figure strong" data-label="to sell">${quantity(variant.availableQty)}</td>
    <td class="figure" data-label="on hand">–</td>
    <td class="figure" data-label="reserved">–</td>
    <td class="whole">
      ${
        variant.availableQty === null
          ? html`${suspicion({ suspect: variant.suspect })}<span class="quiet">not read yet</span>`
          : freshness({ ...variant, source: sourceOfTotal(variant) }, variant.variantId, nowMs)
      }
    </td>
  </tr>`;
}

/** Why a variant has no row of a warehouse. */
const KINDS: Readonly<Record<string, string>> = {
  own: 'none',
  pulled: 'not shown: belongs to another seller',
  bundle: 'none: bundle',
  assembled: 'none: assembled',
};

/** The source of a total, inferred from its times. Null: a read has since confirmed it. */
function sourceOfTotal({ asOfMs, verifiedAtMs }: StockVariant): StockLevelRow['source'] | null {
  if (verifiedAtMs === asOfMs) return 'read';
  return verifiedAtMs === null || asOfMs > verifiedAtMs ? 'webhook' : null;
}

function suspicion({ suspect }: { readonly suspect: boolean }): Html | string {
  return suspect ? html`<span class="state odd">suspect</span> ` : '';
}

/** In words; with exact times on hover or keyboard focus. */
export function freshness(
  {
    source,
    asOfMs,
    verifiedAtMs,
    suspect,
  }: Pick<StockLevelRow, 'asOfMs' | 'verifiedAtMs' | 'suspect'> & {
    readonly source: StockLevelRow['source'] | null;
  },
  id: string,
  nowMs: number,
): Html {
  const verified = verifiedAtMs === null ? 'never verified' : `verified ${agoText(verifiedAtMs, nowMs)}`;
  return html`${suspicion({ suspect })}<span
      class="tip"
      tabindex="0"
      id="fresh-${id}"
      aria-describedby="exact-${id}"
      >${source ?? 'as of'}
      ${agoText(asOfMs, nowMs)}${source === 'read' && verifiedAtMs === asOfMs ? '' : `, ${verified}`}<span
        class="bubble"
        role="tooltip"
        id="exact-${id}"
        ><dl>
          <dt>Value from</dt>
          <dd>${source === null ? 'a webhook or a read' : `a ${source}`}</dd>
          <dt>As of</dt>
          <dd>${instant(asOfMs)}</dd>
          <dt>Verified</dt>
          <dd>${verifiedAtMs === null ? 'never by a read' : instant(verifiedAtMs)}</dd>
          <dt>Suspect</dt>
          <dd>${suspect ? 'yes: a read is due' : 'no'}</dd>
        </dl></span
      ></span
    >`;
}
