/** What the header's search found, when it is not one thing alone: that is shown at once. */
import { html } from 'hono/html';
import type {
  FoundChange,
  FoundDelivery,
  FoundVariant,
  SearchResult,
  Span,
} from '../../mirror/queries/page/search.ts';
import type { Html } from '../../web/html.ts';
import type { WarehouseNames } from '../shared/warehouse-names.ts';
import { instant, quantity } from './figures.ts';
import { idText } from './id-view.ts';
import { warehouseView } from './warehouse-view.ts';

interface Searched {
  readonly text: string;
  readonly span: Span | null;
  readonly names: WarehouseNames;
}

/** The address of the one thing that was found; null: nothing, or several. */
export function onlyHit({ variants, begunSkus, deliveries, changes }: SearchResult): string | null {
  const exact = [
    ...variants.found.map(addressOfVariant),
    ...deliveries.found.map(addressOfDelivery),
    ...changes.found.map(addressOfChange),
  ];
  const hits = exact.length > 0 ? exact : begunSkus.found.map(addressOfVariant);
  return hits.length === 1 ? (hits[0] ?? null) : null;
}

const addressOfVariant = ({ variantId }: FoundVariant): string => `/variants/${variantId}`;
const addressOfDelivery = ({ seq }: FoundDelivery): string => `/deliveries/${seq}`;
/** The page of the variant’s changes that begins with this one. */
const addressOfChange = ({ variantId, seq }: FoundChange): string =>
  `/variants/${variantId}?before=${seq + 1}#change-${seq}`;

export function searchView(result: SearchResult, { text, span, names }: Searched): Html {
  const { variants, begunSkus, deliveries, changes, beforeSeq } = result;
  const sections = [
    variantList('Variants', variants, '/stock'),
    variantList(
      `SKUs that begin with “${text}”`,
      begunSkus,
      `/stock?${new URLSearchParams({ q: text }).toString()}`,
    ),
    deliveryList(deliveries),
    changeList(changes, names),
  ].filter((each) => each !== null);
  return html`<p class="quiet">
      ${span === null ? html`Search for “${text}”` : html`From ${instant(span.fromMs)} up to ${instant(span.untilMs)}`}
    </p>
    ${sections.length === 0 ? nothing(text) : sections}
    <p class="quiet">
      ${
        beforeSeq === null
          ? html`<a href="/stock?${new URLSearchParams({ q: text }).toString()}"
              >Search the stock by name for “${text}”</a
            >`
          : html`<a href="/deliveries?before=${beforeSeq}">The deliveries until then</a>`
      }
    </p>`;
}

/** Where nothing was asked for. */
export function searchHelp(): Html {
  return html`<section>${help()}</section>`;
}

function nothing(text: string): Html {
  return html`<section class="stack" id="nothing-found">
    <p><b>Nothing found for “${text}”.</b></p>
    ${help()}
  </section>`;
}

function help(): Html {
  return html`<p>The search finds</p>
    <ul>
      <li>a SKU, or its beginning;</li>
      <li>the id of a variant or a product;</li>
      <li>the request id of a delivery, or an order’s id, whole, as far back as changes are kept;</li>
      <li>
        a time, such as <code>2026-11-23 14:05</code>, <code>2026-11-23</code> or
        <code>2026-11-23T07:05:00Z</code>: what arrived then.
      </li>
    </ul>
    <p class="quiet">
      Of deliveries that changed no figure, the latest alone are found by request or order.
    </p>`;
}

function variantList(
  title: string,
  { found, hasMore }: SearchResult['variants'],
  allAt: string,
): Html | null {
  if (found.length === 0) return null;
  return list(title, {
    lines: found.map(
      (variant) =>
        html`<a href="${addressOfVariant(variant)}" class="sku"
            >${variant.sku ?? idText(variant.variantId)}</a
          >
          ${[variant.productName, variant.name].filter((each) => each !== null && each !== '').join(', ')}
          <span class="quiet">variant ${idText(variant.variantId)}</span>
          ${variant.isGone ? html`<span class="state">removed</span>` : ''}`,
    ),
    more: hasMore ? html`<a href="${allAt}">More in the stock</a>` : null,
  });
}

const BY: Readonly<Record<FoundDelivery['by'], string>> = {
  request: 'of this request',
  order: 'with changes by this order',
  time: '',
};

function deliveryList({ found, hasMore }: SearchResult['deliveries']): Html | null {
  if (found.length === 0) return null;
  return list('Deliveries', {
    lines: found.map(
      (delivery) =>
        html`<a href="${addressOfDelivery(delivery)}">Delivery ${delivery.seq}</a> ${instant(delivery.atMs)}
          <span class="quiet">${BY[delivery.by]}</span>`,
    ),
    more: hasMore ? html`There are more.` : null,
  });
}

function changeList({ found, hasMore }: SearchResult['changes'], names: WarehouseNames): Html | null {
  if (found.length === 0) return null;
  return list('Figures that reads set', {
    lines: found.map((change) => {
      const { variantId, sku, warehouseId, oldQty, newQty, recordedAtMs } = change;
      return html`<a href="${addressOfChange(change)}" class="sku">${sku ?? idText(variantId)}</a>
        ${warehouseId === null ? 'total' : html`warehouse ${warehouseView(warehouseId, names)}`}:
        ${quantity(oldQty)} → ${newQty === null ? 'removed' : quantity(newQty)} ${instant(recordedAtMs)}`;
    }),
    more: hasMore ? html`There are more.` : null,
  });
}

function list(
  title: string,
  { lines, more }: { readonly lines: readonly Html[]; readonly more: Html | null },
): Html {
  return html`<section>
    <header><h2>${title}</h2></header>
    <ul class="list">
      ${lines.map((line) => html`<li>${line}</li>`)}
    </ul>
    ${more === null ? '' : html`<p class="quiet">${more}</p>`}
  </section>`;
}
