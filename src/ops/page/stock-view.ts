import { html, raw } from 'hono/html';
import type { stockFacets, StockPage } from '../../mirror/queries/page/stock.ts';
import type { StockOrder } from '../../mirror/queries/page/stock-order.ts';
import type { StockLevelRow, StockVariant } from '../../mirror/queries/page/stock-rows.ts';
import { WHY_NOT, type WhyNot } from '../../mirror/file/suspicion.ts';
import { duration } from '../../platform/amounts.ts';
import type { Html } from '../../web/html.ts';
import type { WarehouseNames } from '../shared/words.ts';
import {
  ago,
  groupedTable,
  numeric,
  pager,
  quantity,
  suspectWords,
  variantLink,
  warehouseView,
} from './parts.ts';

interface StockSearch {
  readonly text: string;
  readonly warehouseId: string;
  readonly suspect: boolean;
  readonly empty: boolean;
  readonly order: StockOrder;
  readonly after: string | null;
  readonly before: string | null;
}

const BY_ID: StockOrder = { by: 'id', isFalling: false };

export function readStockSearch(params: URLSearchParams): StockSearch {
  return {
    text: params.get('q') ?? '',
    warehouseId: params.get('warehouse')?.trim() ?? '',
    suspect: params.get('suspect') !== null,
    empty: params.get('empty') !== null,
    order: orderOf(params.get('sort')),
    after: params.get('after'),
    before: params.get('before'),
  };
}

/** @param sort `sku` or `changed`, with `-` before it for the falling order; anything else is the order of ids. */
function orderOf(sort: string | null): StockOrder {
  const by = sort?.replace('-', '');
  return by === 'sku' || by === 'changed' ? { by, isFalling: sort !== by } : BY_ID;
}

function sortOf({ by, isFalling }: StockOrder): string {
  return isFalling ? `-${by}` : by;
}

type Place = Partial<Record<'after' | 'before', string>>;

function addressOf({ text, warehouseId, suspect, empty, order }: StockSearch, place: Place = {}): string {
  const params = new URLSearchParams({
    ...(text !== '' && { q: text }),
    ...(warehouseId !== '' && { warehouse: warehouseId }),
    ...(suspect && { suspect: '1' }),
    ...(empty && { empty: '1' }),
    ...(order.by !== 'id' && { sort: sortOf(order) }),
    ...place,
  });
  return `/stock?${params.toString()}`;
}

/** A heading whose link sorts, then reverses, then restores the order of ids. */
interface SortedHeading {
  readonly name: string;
  readonly title: string;
  readonly first: StockOrder;
}

function sortedBy(search: StockSearch, { name, title, first }: SortedHeading) {
  const { order } = search;
  const isSorted = order.by === first.by;
  const reversed = { ...first, isFalling: !first.isFalling };
  const next = !isSorted ? first : order.isFalling === first.isFalling ? reversed : BY_ID;
  const now = order.isFalling ? ('descending' as const) : ('ascending' as const);
  return {
    name,
    sorting: { to: addressOf({ ...search, order: next }), now: isSorted ? now : ('none' as const), title },
  };
}

interface Shown {
  readonly names: WarehouseNames;
  readonly nowMs: number;
  /** null: more than are counted. */
  readonly suspects: number | null;
  readonly facets: ReturnType<typeof stockFacets>;
}

export function stockView(page: StockPage, search: StockSearch, shown: Shown): Html {
  const { text, after, before } = search;
  const headings = [
    sortedBy(search, {
      name: 'Variant',
      title: 'Sort by SKU',
      first: { by: 'sku', isFalling: false },
    }),
    'Warehouse',
    numeric('To sell'),
    numeric('On hand'),
    numeric('Reserved'),
    sortedBy(search, {
      name: 'Source and age',
      title: 'Sort by the last change',
      first: { by: 'changed', isFalling: true },
    }),
  ];
  return html`<article>
    <header>
      <h1>Stock${text === '' ? '' : html`: “${text}”`}</h1>
      ${filtersView(search, shown)}
    </header>
    ${groupedTable(
      headings,
      page.variants
        .map((variant) => ({
          head: headOf(variant),
          rows: rowsOf(variant, search, shown),
        }))
        .filter(({ rows }) => rows.length > 0),
      noneFound(page, search),
    )}
    ${pager({
      first: after === null && before === null ? null : addressOf(search),
      previous: page.previous === null ? null : addressOf(search, { before: page.previous }),
      next: page.next === null ? null : addressOf(search, { after: page.next }),
    })}
  </article>`;
}

function filtersView(search: StockSearch, { names, suspects, facets }: Shown): Html {
  const { text, warehouseId, suspect, empty, order } = search;
  const chosen = warehouseId === '' ? [] : [warehouseId];
  const ids = [...new Set([...names.keys(), ...facets.warehouseIds, ...chosen])].toSorted();
  return html`<form action="/stock" class="row">
    <input type="hidden" name="q" value="${text}" />
    ${order.by === 'id' ? '' : html`<input type="hidden" name="sort" value="${sortOf(order)}" />`}
    <select name="warehouse" aria-label="Warehouse">
      <option value="">All warehouses</option>
      ${ids.map((id) => {
        const name = names.get(id);
        const words = name === undefined ? id : `${name} (${id})`;
        return html`<option value="${id}" ${id === warehouseId ? raw('selected') : ''}>${words}</option>`;
      })}
    </select>
    <label
      ><input type="checkbox" name="suspect" value="1" ${suspect ? 'checked' : ''} /> Suspect
      <span class="quiet">${suspectWords(suspects)}</span></label
    >
    <label
      ><input type="checkbox" name="empty" value="1" ${empty ? 'checked' : ''} /> Nothing to sell
      ${facets.empty === null ? '' : html`<span class="quiet">${quantity(facets.empty)}</span>`}</label
    >
    <button class="secondary">Filter</button>
  </form>`;
}

function headOf(variant: StockVariant): Html {
  const name = [variant.productName, variant.name].filter((each) => each !== null && each !== '').join(', ');
  return html`${variantLink(variant)} <span class="name">${name}</span>`;
}

function noneFound({ isPartial }: StockPage, search: StockSearch): string {
  const { text, warehouseId, suspect, empty, after, before } = search;
  if (isPartial) return 'No match yet: each page searches a part of a large mirror.';
  if (after !== null || before !== null) return 'There are no more.';
  return text === '' && warehouseId === '' && !suspect && !empty
    ? 'No product has been read yet.'
    : 'No match.';
}

function rowsOf(
  variant: StockVariant,
  { warehouseId, suspect, empty }: StockSearch,
  { names, nowMs }: Shown,
) {
  const row = (where: Html | string, values: readonly (Html | string)[], source: Html, id = '') => ({
    id: `level-${variant.variantId}${id}`,
    cells: [where, ...values, source],
  });
  const rows = variant.levels
    .filter((level) => warehouseId === '' || level.warehouseId === warehouseId)
    .filter((level) => !suspect || level.suspect)
    .filter((level) => !empty || level.qty <= 0)
    .map((level) =>
      row(
        warehouseView(level.warehouseId, names),
        [html`${doubtView(level)}${quantity(level.qty)}`, ...atHand(level, nowMs)],
        sourceView(level, nowMs),
        `-${level.warehouseId}`,
      ),
    );
  if (warehouseId !== '' || (!variant.hasTotal && variant.levels.length > 0)) return rows;
  const { availableQty } = variant;
  if ((suspect && !variant.suspect) || (empty && (availableQty ?? 0) > 0)) return rows;
  const values = [html`${doubtView(variant)}${quantity(availableQty)}`, '–', '–'];
  const seen = availableQty === null ? html`not read yet` : sourceView(variant, nowMs);
  return [row(TOTALS[variant.kind] ?? variant.kind, values, seen), ...rows];
}

/** Only reads show them, so they are greyed once a webhook has changed the quantity. */
function atHand(level: StockLevelRow, nowMs: number): readonly (Html | string)[] {
  const { onHand, reservedQty, onHandAsOfMs, asOfMs } = level;
  const values = [onHand, reservedQty].map(quantity);
  if (onHandAsOfMs === null || onHandAsOfMs >= asOfMs) return values;
  const age = `${duration(nowMs - onHandAsOfMs)} old: read before the last change`;
  return values.map((value) => html`<span class="quiet" title="${age}">${value}</span>`);
}

/** Names of the row that has the total of a variant, not the stock of one warehouse. */
const TOTALS: Readonly<Record<string, string>> = {
  own: 'total',
  pulled: 'total (another seller’s stock)',
  bundle: 'total (bundle)',
  assembled: 'total (assembled)',
};

const UNVERIFIABLE = 'no read shows the quantity of this warehouse: use the total';

/** Short words, because a title is not shown on a phone. */
const DOUBTS: Readonly<Record<WhyNot, string>> = {
  state: 'not trusted',
  unknown_product: 'unknown product',
  not_read: 'not read',
  unchecked: 'not checked',
  held: 'held',
  read_due: 'read due',
  gap: 'gap',
};

/** Placed before the quantity that may be wrong. */
export function doubtView({ whyNot }: Pick<StockLevelRow, 'whyNot'>): Html | '' {
  if (whyNot === null) return '';
  if (whyNot === 'unverifiable')
    return html`<span class="quiet" title="${UNVERIFIABLE}">not verified</span> `;
  return html`<span class="state odd" title="${WHY_NOT[whyNot]}">${DOUBTS[whyNot]}</span> `;
}

interface Sourced extends Pick<StockVariant, 'asOfMs' | 'verifiedAtMs'> {
  /** Omitted for the total of a variant, which has several. */
  readonly source?: StockLevelRow['source'];
}

export const verification = (atMs: number | null, nowMs: number): Html =>
  atMs === null ? html`never verified` : html`verified ${ago(atMs, nowMs)}`;

export function sourceView({ source, asOfMs, verifiedAtMs }: Sourced, nowMs: number): Html {
  const verified = verifiedAtMs === asOfMs ? '' : html`, ${verification(verifiedAtMs, nowMs)}`;
  return html`${source ?? 'as of'} ${ago(asOfMs, nowMs)}${verified}`;
}
