import { html } from 'hono/html';
import { searchForm } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';
import { available, sellable, type Product, type StockLevel, type Variant } from '../world/model.ts';
import type { Truth } from '../world/truth.ts';

const PRODUCTS_SHOWN = 12;

export function addressOf(path: string, query: string): string {
  return query === '' ? path : `${path}?${new URLSearchParams({ q: query }).toString()}`;
}

export function stockView(truth: Truth, query: string): Html {
  const lowerQuery = query.toLowerCase();
  const matching = truth.products.filter((product) => !product.deleted && matches(product, lowerQuery));
  return html`<article id="stock" aria-labelledby="stock-title">
    <header>
      <h2 id="stock-title">Stock</h2>
      ${searchForm({ action: '/', query, label: 'Name, SKU or id', placeholder: 'Name, SKU or id' })}
    </header>
    <table>
      <thead>
        <tr>
          <th scope="col">Variant</th>
          <th scope="col">Warehouse</th>
          <th scope="col" class="quantity">To sell</th>
          <th scope="col" class="quantity">On hand</th>
          <th scope="col" class="quantity">Reserved</th>
          <th scope="col">Change</th>
        </tr>
      </thead>
      ${matching.slice(0, PRODUCTS_SHOWN).map((product) => productRows(product, addressOf('/page/stock', query)))}
    </table>
    <p class="quiet">
      ${
        matching.length > PRODUCTS_SHOWN
          ? `The first ${PRODUCTS_SHOWN} of ${matching.length} products. Search for the others.`
          : `${matching.length} products.`
      }
    </p>
  </article>`;
}

function matches(product: Product, lowerQuery: string): boolean {
  const holds = (text: string | null): boolean => text !== null && text.toLowerCase().includes(lowerQuery);
  return (
    holds(product.name) ||
    product.id === lowerQuery ||
    product.variants.some(
      (variant) =>
        !variant.deleted && (holds(variant.sku) || holds(variant.name) || variant.id === lowerQuery),
    )
  );
}

function productRows(product: Product, action: string): Html {
  return html`<tbody id="product-${product.id}">
    <tr>
      <th scope="rowgroup" colspan="6">
        ${product.name}
        <span class="quiet">${product.kind === 'own' ? '' : `${product.kind} · `}${product.id}</span>
      </th>
    </tr>
    ${product.variants
      .filter((variant) => !variant.deleted)
      .map((variant) =>
        variant.levels.length === 0
          ? bundleRow(variant)
          : variant.levels.map((level) => levelRow(variant, level, action)),
      )}
  </tbody>`;
}

function bundleRow(variant: Variant): Html {
  const parts = variant.components.map((part) => `${part.qty} × ${labelOf(part.variant)}`).join(', ');
  return html`<tr id="stock-${variant.id}">
    <th scope="row">${variant.sku ?? 'no SKU'} ${variant.name}</th>
    <td class="quiet">–</td>
    ${quantity('To sell', sellable(variant))}
    <td class="quiet" colspan="3">${parts === '' ? 'in no warehouse' : `of ${parts}`}</td>
  </tr>`;
}

function levelRow(variant: Variant, level: StockLevel, action: string): Html {
  const id = `stock-${variant.id}-${level.warehouseId}`;
  const isOwn = variant.kind !== 'pulled';
  const which = `${labelOf(variant)} in warehouse ${level.warehouseId}`;
  return html`<tr id="${id}">
    <th scope="row">${variant.sku ?? 'no SKU'} ${variant.name}</th>
    <td>${level.warehouseId}</td>
    ${quantity('To sell', available(level))} ${quantity('On hand', isOwn ? level.onHand : '–')}
    ${quantity('Reserved', isOwn ? level.reserved : '–')}
    <td class="change">
      <details>
        <summary aria-label="Change ${which}">Change</summary>
        <form method="post" action="${action}" class="row" data-stay>
          <input type="hidden" name="variant_id" value="${variant.id}" />
          <input type="hidden" name="warehouse_id" value="${level.warehouseId}" />
          <input
            name="qty"
            size="4"
            inputmode="numeric"
            autocomplete="off"
            required
            aria-label="Units of ${which}"
          />
          <button name="how" value="set" aria-label="Set the available quantity of ${which}">Set</button>
          <button name="how" value="add" aria-label="Add to ${which}; negative removes">Add</button>
        </form>
      </details>
    </td>
  </tr>`;
}

function quantity(label: string, value: number | string): Html {
  return html`<td class="quantity" data-label="${label}">${value}</td>`;
}

export function labelOf(variant: Variant): string {
  return variant.sku ?? `variant ${variant.id}`;
}
