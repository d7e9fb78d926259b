import { html } from 'hono/html';
import { available, sellable } from '../world/model.ts';
import type { StockLevel, Product, Variant } from '../world/model.ts';
import type { CataloguePage } from './catalogue-page.ts';
import type { Html } from '../../web/html.ts';
import { addressOf, labelOf, rowId } from './view.ts';
import type { Refused, View } from './view.ts';

interface Shown {
  readonly catalogue: CataloguePage;
  readonly view: View;
  readonly refused: Refused | undefined;
}

export function stockView(shown: Shown): Html {
  const { catalogue, view } = shown;
  return html`<section id="stock" aria-labelledby="stock-title">
    <header>
      <h2 id="stock-title">Stock</h2>
      <form role="search" action="/" class="row">
        <label class="hidden" for="search">Search by name, SKU or id</label>
        <input id="search" type="search" name="q" value="${view.query}" placeholder="Name, SKU or id" />
        <button>Search</button>
      </form>
    </header>
    <p id="stock-total" class="quiet" data-live="whole">${told(catalogue, view)}</p>
    <div class="list">
      <table id="stock-list" data-live="rows">
        <thead id="stock-head">
          <tr>
            <th scope="col">Variant</th>
            <th scope="col">Warehouse</th>
            <th scope="col" class="figure">To sell</th>
            <th scope="col" class="figure">On hand</th>
            <th scope="col" class="figure">Reserved</th>
            <th scope="col">Change</th>
          </tr>
        </thead>
        ${catalogue.products.map((product) => productRows(product, shown))}
      </table>
    </div>
    ${pager(catalogue, view)}
  </section>`;
}

function told({ products, total }: CataloguePage, { query }: View): Html {
  if (total === 0 && query !== '')
    return html`No name, SKU or id contains “${query}”. <a href="/">Show all</a>`;
  if (total === 0) return html`The store has no products.`;
  const found = query === '' ? html`` : html` with “${query}” (<a href="/">show all</a>)`;
  return html`${products.length} of ${total} products${found}`;
}

function pager({ page, pages }: CataloguePage, view: View): Html {
  if (pages === 1) return html``;
  const to = (target: number, words: string): Html =>
    target < 1 || target > pages
      ? html`<span class="quiet">${words}</span>`
      : html`<a href="${addressOf('/', { ...view, page: target })}">${words}</a>`;
  return html`<nav class="row pager" aria-label="Pages of the stock list">
    ${to(page - 1, '← Back')} <span>Page ${page} of ${pages}</span> ${to(page + 1, 'Next →')}
  </nav>`;
}

function productRows(product: Product, shown: Shown): Html {
  const live = product.variants.filter((variant) => !variant.deleted);
  return html`<tbody id="product-${product.id}" data-live="rows">
    <tr id="product-${product.id}-head" class="product">
      <th scope="rowgroup" colspan="5">
        <span id="product-${product.id}-name" data-live="whole">${product.name}</span>
        <span class="quiet">${product.kind === 'own' ? '' : `${product.kind} · `}${product.id}</span>
      </th>
      <td>
        <form method="post" action="${addressOf('/page/delete-product', shown.view)}">
          <input type="hidden" name="product_id" value="${product.id}" />
          <button class="light">Delete<span class="hidden"> ${product.name}</span></button>
        </form>
      </td>
    </tr>
    ${live.map((variant) =>
      variant.levels.length === 0
        ? withoutLevels(variant, shown)
        : variant.levels.map((level) => levelRow(variant, level, shown)),
    )}
  </tbody>`;
}

function naming(variant: Variant, { view }: Shown): Html {
  return html`<th scope="row">
    <span class="sku">${variant.sku ?? 'no SKU'}</span> ${variant.name}
    <a href="${addressOf('/', view, { order: variant.id })}#order" class="quiet"
      >order<span class="hidden"> ${labelOf(variant)}</span></a
    >
  </th>`;
}

/** A bundle, which has no stock of its own. */
function withoutLevels(variant: Variant, shown: Shown): Html {
  const parts = variant.components.map((part) => `${part.qty} × ${labelOf(part.variant)}`).join(', ');
  return html`<tr id="stock-${variant.id}">
    ${naming(variant, shown)}
    <td class="quiet">–</td>
    ${figure(`stock-${variant.id}-total`, 'To sell', sellable(variant))}
    <td class="quiet none" colspan="3">${parts === '' ? 'in no warehouse' : `of ${parts}`}</td>
  </tr>`;
}

function levelRow(variant: Variant, level: StockLevel, shown: Shown): Html {
  const id = rowId(variant.id, level.warehouseId);
  // For a seller's warehouse, the store shows only the available quantity.
  const isTold = variant.kind !== 'pulled';
  return html`<tr id="${id}">
    ${naming(variant, shown)}
    <td class="warehouse">${level.warehouseId}</td>
    ${figure(`${id}-sell`, 'To sell', available(level))}
    ${figure(`${id}-hand`, 'On hand', isTold ? level.onHand : '–')}
    ${figure(`${id}-held`, 'Reserved', isTold ? level.reserved : '–')}
    <td class="change">${changeForm(variant, level, shown)}</td>
  </tr>`;
}

function figure(id: string, label: string, value: number | string): Html {
  return html`<td class="figure" data-label="${label}">
    <span id="${id}" data-live="whole">${value}</span>
  </td>`;
}

function changeForm(variant: Variant, { warehouseId }: StockLevel, { view, refused }: Shown): Html {
  const isRefused =
    refused?.action === 'stock' &&
    refused.form.get('variant_id') === variant.id &&
    refused.form.get('warehouse_id') === warehouseId;
  const which = `${labelOf(variant)} in warehouse ${warehouseId}`;
  return html`<form method="post" action="${addressOf('/page/stock', view)}" class="row" data-clear>
    <input type="hidden" name="variant_id" value="${variant.id}" />
    <input type="hidden" name="warehouse_id" value="${warehouseId}" />
    <input
      name="qty"
      value="${isRefused ? (refused.form.get('qty') ?? '') : ''}"
      inputmode="numeric"
      autocomplete="off"
      size="5"
      required
      aria-label="Units of ${which}"
    />
    <button name="how" value="set">Set<span class="hidden"> the available quantity of ${which}</span></button>
    <button name="how" value="add">
      Add<span class="hidden"> to ${which}; a negative number removes units</span>
    </button>
  </form>`;
}
