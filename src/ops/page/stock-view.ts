import { html, raw } from 'hono/html';
import type { StockPage } from '../../mirror/queries/page/stock.ts';
import type { StockLevelRow, StockVariant } from '../../mirror/queries/page/stock-rows.ts';
import { WHY_NOT, type WhyNot } from '../../mirror/file/suspicion.ts';
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
  readonly after: string | null;
}

export function readStockSearch(params: URLSearchParams): StockSearch {
  return {
    text: params.get('q') ?? '',
    warehouseId: params.get('warehouse')?.trim() ?? '',
    suspect: params.get('suspect') !== null,
    empty: params.get('empty') !== null,
    after: params.get('after'),
  };
}

function addressOf({ text, warehouseId, suspect, empty }: StockSearch, after: string | null): string {
  const params = new URLSearchParams({
    ...(text !== '' && { q: text }),
    ...(warehouseId !== '' && { warehouse: warehouseId }),
    ...(suspect && { suspect: '1' }),
    ...(empty && { empty: '1' }),
    ...(after !== null && { after }),
  });
  return `/stock?${params.toString()}`;
}

interface Shown {
  readonly names: WarehouseNames;
  /** Whether the page may name the chosen warehouse. */
  readonly mayName: boolean;
  readonly nowMs: number;
  /** null: more than are counted. */
  readonly suspects: number | null;
  readonly warehouseIds: readonly string[];
}

export function stockView(page: StockPage, search: StockSearch, shown: Shown): Html {
  const { text, after } = search;
  return html`<article>
    <header>
      <h1>Stock${text === '' ? '' : html`: “${text}”`}</h1>
      ${filtersView(search, shown)}
    </header>
    ${search.warehouseId !== '' && shown.mayName ? nameForm(search.warehouseId, shown.names) : ''}
    ${groupedTable(
      ['Variant', 'Warehouse', numeric('To sell'), 'Not trusted', 'Source and age'],
      page.variants
        .map((variant) => ({
          head: headOf(variant),
          rows: rowsOf(variant, search, shown),
        }))
        .filter(({ rows }) => rows.length > 0),
      noneFound(page, search),
    )}
    ${pager({
      first: after === null ? null : addressOf(search, null),
      next: page.next === null ? null : addressOf(search, page.next),
    })}
  </article>`;
}

function filtersView(search: StockSearch, { names, suspects, warehouseIds }: Shown): Html {
  const { text, warehouseId, suspect, empty } = search;
  const chosen = warehouseId === '' ? [] : [warehouseId];
  const ids = [...new Set([...names.keys(), ...warehouseIds, ...chosen])].toSorted();
  return html`<form action="/stock" class="row">
    <input type="hidden" name="q" value="${text}" />
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
    <label><input type="checkbox" name="empty" value="1" ${empty ? 'checked' : ''} /> Nothing to sell</label>
    <button class="secondary">Filter</button>
  </form>`;
}

function nameForm(warehouseId: string, names: WarehouseNames): Html {
  return html`<form method="post" action="/page/warehouse" class="row">
    <input type="hidden" name="id" value="${warehouseId}" />
    <label
      >Name of warehouse ${warehouseId}
      <input name="name" value="${names.get(warehouseId) ?? ''}" maxlength="60" autocomplete="off" />
    </label>
    <button class="secondary">Save</button>
  </form>`;
}

function headOf(variant: StockVariant): Html {
  const name = [variant.productName, variant.name].filter((each) => each !== null && each !== '').join(', ');
  return html`${variantLink(variant)} <span class="name">${name}</span>`;
}

function noneFound({ isPartial }: StockPage, search: StockSearch): string {
  const { text, warehouseId, suspect, empty, after } = search;
  if (isPartial) return 'No match yet: each page searches a part of a large mirror.';
  if (after !== null) return 'There are no more.';
  return text === '' && warehouseId === '' && !suspect && !empty ? 'The mirror has no variant.' : 'No match.';
}

function rowsOf(
  variant: StockVariant,
  { warehouseId, suspect, empty }: StockSearch,
  { names, nowMs }: Shown,
) {
  const rows = variant.levels
    .filter((level) => warehouseId === '' || level.warehouseId === warehouseId)
    .filter((level) => !suspect || level.suspect)
    .filter((level) => !empty || level.qty <= 0)
    .map((level) => ({
      id: `level-${variant.variantId}-${level.warehouseId}`,
      cells: [
        warehouseView(level.warehouseId, names),
        quantity(level.qty),
        doubtView(level),
        sourceView(level, nowMs),
      ],
    }));
  if (warehouseId !== '' || (!variant.hasTotal && variant.levels.length > 0)) return rows;
  const { availableQty } = variant;
  if ((suspect && !variant.suspect) || (empty && (availableQty ?? 0) > 0)) return rows;
  const total = {
    id: `level-${variant.variantId}`,
    cells: [
      TOTALS[variant.kind] ?? variant.kind,
      quantity(availableQty),
      doubtView(variant),
      availableQty === null ? html`not read yet` : sourceView(variant, nowMs),
    ],
  };
  return [total, ...rows];
}

/** Names of the row that has the total of a variant, not the stock of one warehouse. */
const TOTALS: Readonly<Record<string, string>> = {
  own: 'total',
  pulled: 'total (another seller’s stock)',
  bundle: 'total (bundle)',
  assembled: 'total (assembled)',
};

const DOUBTS: Readonly<Record<WhyNot | 'unverifiable', string>> = {
  state: 'no value is trusted now',
  unknown_product: 'its product is unknown',
  not_read: 'waits to be read',
  unchecked: 'not checked in time',
  held: 'missing in the store',
  read_due: 'a read is due',
  gap: 'a webhook is late or lost',
  unverifiable: 'no read shows it: use the total',
};

export function doubtView({ whyNot }: Pick<StockLevelRow, 'whyNot'>): Html | '' {
  if (whyNot === null) return '';
  const title = whyNot === 'unverifiable' ? DOUBTS[whyNot] : WHY_NOT[whyNot];
  return html`<span class="doubt" title="${title}">${DOUBTS[whyNot]}</span>`;
}

interface Sourced extends Pick<StockVariant, 'asOfMs' | 'verifiedAtMs'> {
  /** Omitted for the total of a variant, which has several. */
  readonly source?: StockLevelRow['source'];
}

export const verification = (atMs: number | null, nowMs: number): Html =>
  atMs === null ? html`never verified` : html`verified ${ago(atMs, nowMs)}`;

export function sourceView({ source, asOfMs, verifiedAtMs }: Sourced, nowMs: number): Html {
  const verified =
    verifiedAtMs === asOfMs ? '' : html`<span class="verified">, ${verification(verifiedAtMs, nowMs)}</span>`;
  return html`${source ?? 'as of'} ${ago(asOfMs, nowMs)}${verified}`;
}
