import { html } from 'hono/html';
import type { StockLevelRow, StockPage, StockVariant } from '../../mirror/queries/page/stock.ts';
import { WHY_NOT } from '../../mirror/file/suspicion.ts';
import { duration } from '../../platform/amounts.ts';
import type { Html } from '../../web/html.ts';
import type { WarehouseNames } from '../shared/words.ts';
import { ago, pager, quantity, table, variantLink, warehouseView } from './parts.ts';

interface StockSearch {
  readonly text: string;
  readonly warehouseId: string;
  readonly suspect: boolean;
  readonly after: string | null;
}

export function readStockSearch(params: URLSearchParams): StockSearch {
  return {
    text: params.get('q') ?? '',
    warehouseId: params.get('warehouse')?.trim() ?? '',
    suspect: params.get('suspect') !== null,
    after: params.get('after'),
  };
}

function addressOf({ text, warehouseId, suspect }: StockSearch, after: string | null): string {
  const params = new URLSearchParams({
    ...(text !== '' && { q: text }),
    ...(warehouseId !== '' && { warehouse: warehouseId }),
    ...(suspect && { suspect: '1' }),
    ...(after !== null && { after }),
  });
  return `/stock?${params.toString()}`;
}

interface Shown {
  readonly names: WarehouseNames;
  readonly nowMs: number;
}

export function stockView(page: StockPage, search: StockSearch, shown: Shown): Html {
  const { text, warehouseId, suspect, after } = search;
  return html`<article>
    <header>
      <h1>Stock${text === '' ? '' : html`: “${text}”`}</h1>
      <form action="/stock" class="row">
        <input type="hidden" name="q" value="${text}" />
        <label class="row"
          >Warehouse <input name="warehouse" value="${warehouseId}" size="8" autocomplete="off"
        /></label>
        <label
          ><input type="checkbox" name="suspect" value="1" ${suspect ? 'checked' : ''} /> Suspect only</label
        >
        <button class="secondary">Filter</button>
      </form>
    </header>
    ${table(
      ['SKU', 'Name', 'Warehouse', '#To sell', '#On hand', '#Reserved', 'Evidence'],
      page.variants.flatMap((variant) => rowsOf(variant, search, shown)),
      noneFound(page, search),
    )}
    ${pager({
      first: after === null ? null : addressOf(search, null),
      next: page.next === null ? null : addressOf(search, page.next),
    })}
  </article>`;
}

function noneFound({ isPartial }: StockPage, { text, warehouseId, suspect, after }: StockSearch): string {
  if (isPartial) return 'No match yet: each page searches a part of a large mirror.';
  if (after !== null) return 'There are no more.';
  return text === '' && warehouseId === '' && !suspect ? 'No product has been read yet.' : 'No match.';
}

function rowsOf(variant: StockVariant, { warehouseId, suspect }: StockSearch, { names, nowMs }: Shown) {
  const name = [variant.productName, variant.name].filter((each) => each !== null && each !== '').join(', ');
  const row = (where: Html | string, values: readonly (Html | string)[], evidence: Html, id = '') => ({
    id: `level-${variant.variantId}${id}`,
    cells: [variantLink(variant), name, where, ...values, evidence],
  });
  const rows = variant.levels
    .filter((level) => warehouseId === '' || level.warehouseId === warehouseId)
    .filter((level) => !suspect || level.suspect)
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
  if (suspect && !variant.suspect) return rows;
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
