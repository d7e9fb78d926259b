import { html, raw } from 'hono/html';
import type { stockFacets, StockLevelRow, StockPage, StockVariant } from '../../mirror/queries/page/stock.ts';
import { WHY_NOT } from '../../mirror/file/suspicion.ts';
import { duration } from '../../platform/amounts.ts';
import type { Html } from '../../web/html.ts';
import type { WarehouseNames } from '../shared/words.ts';
import { ago, groupedTable, pager, quantity, variantLink, warehouseView } from './parts.ts';

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
  readonly nowMs: number;
  readonly suspects: number;
  readonly facets: ReturnType<typeof stockFacets>;
}

export function stockView(page: StockPage, search: StockSearch, shown: Shown): Html {
  const { text, after } = search;
  return html`<article>
    <header>
      <h1>Stock${text === '' ? '' : html`: “${text}”`}</h1>
      ${filtersView(search, shown)}
    </header>
    ${groupedTable(
      ['Variant', 'Warehouse', '#To sell', '#On hand', '#Reserved', 'Evidence'],
      page.variants
        .map((variant) => ({ head: headOf(variant), rows: rowsOf(variant, search, shown) }))
        .filter(({ rows }) => rows.length > 0),
      noneFound(page, search),
    )}
    ${pager({
      first: after === null ? null : addressOf(search, null),
      next: page.next === null ? null : addressOf(search, page.next),
    })}
  </article>`;
}

function filtersView(search: StockSearch, { names, suspects, facets }: Shown): Html {
  const { text, warehouseId, suspect, empty } = search;
  const chosen = warehouseId === '' ? [] : [warehouseId];
  const ids = [...new Set([...names.keys(), ...facets.warehouseIds, ...chosen])].toSorted();
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
      <span class="quiet">${quantity(suspects)}</span></label
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
  const { text, warehouseId, suspect, empty, after } = search;
  if (isPartial) return 'No match yet: each page searches a part of a large mirror.';
  if (after !== null) return 'There are no more.';
  return text === '' && warehouseId === '' && !suspect && !empty
    ? 'No product has been read yet.'
    : 'No match.';
}

function rowsOf(
  variant: StockVariant,
  { warehouseId, suspect, empty }: StockSearch,
  { names, nowMs }: Shown,
) {
  const row = (where: Html | string, values: readonly (Html | string)[], evidence: Html, id = '') => ({
    id: `level-${variant.variantId}${id}`,
    cells: [where, ...values, evidence],
  });
  const rows = variant.levels
    .filter((level) => warehouseId === '' || level.warehouseId === warehouseId)
    .filter((level) => !suspect || level.suspect)
    .filter((level) => !empty || level.qty <= 0)
    .map((level) =>
      row(
        warehouseView(level.warehouseId, names),
        [quantity(level.qty), ...atHand(level, nowMs)],
        evidenceView(level, nowMs),
        `-${level.warehouseId}`,
      ),
    );
  if (warehouseId !== '' || (variant.total === null && variant.levels.length > 0)) return rows;
  const { availableQty, total } = variant;
  if ((suspect && !variant.suspect) || (empty && (availableQty ?? 0) > 0)) return rows;
  const evidence = { ...variant, whyNot: total?.whyNot ?? null };
  const seen =
    availableQty === null ? html`${suspicion(evidence)}not read yet` : evidenceView(evidence, nowMs);
  return [row(KINDS[variant.kind] ?? variant.kind, [quantity(availableQty), '–', '–'], seen), ...rows];
}

/** Only reads show them, so they are greyed once a webhook has changed the quantity. */
function atHand(level: StockLevelRow, nowMs: number): readonly (Html | string)[] {
  const { onHand, reservedQty, onHandAsOfMs, asOfMs } = level;
  const values = [onHand, reservedQty].map(quantity);
  if (onHandAsOfMs === null || onHandAsOfMs >= asOfMs) return values;
  const age = `${duration(nowMs - onHandAsOfMs)} old: read before the last change`;
  return values.map((value) => html`<span class="quiet" title="${age}">${value}</span>`);
}

const KINDS: Readonly<Record<string, string>> = {
  own: 'none',
  pulled: 'none: another seller’s stock',
  bundle: 'none: bundle',
  assembled: 'none: assembled',
};

const UNVERIFIABLE = 'no read shows the quantity of this warehouse: use the total';

function suspicion({ suspect, whyNot = null }: Pick<Evidence, 'suspect' | 'whyNot'>): Html | '' {
  if (whyNot === null) return suspect ? html`<span class="state odd">suspect</span> ` : '';
  const why = whyNot === 'unverifiable' ? UNVERIFIABLE : WHY_NOT[whyNot];
  return html`<span class="state odd" title="${why}">${suspect ? 'suspect' : 'not trusted'}</span> `;
}

type Evidence = Pick<StockVariant, 'asOfMs' | 'verifiedAtMs' | 'suspect'> &
  Partial<Pick<StockLevelRow, 'source' | 'whyNot'>>;

export const verification = (atMs: number | null, nowMs: number): Html =>
  atMs === null ? html`never verified` : html`verified ${ago(atMs, nowMs)}`;

export function evidenceView(evidence: Evidence, nowMs: number): Html {
  const { source = 'as of', asOfMs, verifiedAtMs } = evidence;
  const verified = verifiedAtMs === asOfMs ? '' : html`, ${verification(verifiedAtMs, nowMs)}`;
  return html`${suspicion(evidence)}${source} ${ago(asOfMs, nowMs)}${verified}`;
}
