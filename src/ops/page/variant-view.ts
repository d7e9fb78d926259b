import { html } from 'hono/html';
import type { Change } from '../../core/model.ts';
import type { StockLevelRow } from '../../mirror/queries/page/stock-rows.ts';
import type { VariantView } from '../../mirror/queries/page/variant.ts';
import { duration } from '../../platform/amounts.ts';
import type { Html } from '../../web/html.ts';
import { readReasonName, requestReasonWords, warehouseText, type WarehouseNames } from '../shared/words.ts';
import { actorView } from './deliveries-view.ts';
import {
  ago,
  idView,
  instant,
  marked,
  numeric,
  pager,
  quantity,
  rereadForm,
  signed,
  table,
  warehouseView,
} from './parts.ts';
import { doubtView, sourceView, verification } from './stock-view.ts';

interface Shown {
  readonly names: WarehouseNames;
  readonly nowMs: number;
  readonly beforeSeq: number | null;
}

export function variantTitle({ variant }: VariantView): string {
  const { sku, variantId, productName, name } = variant;
  return [sku ?? `Variant ${variantId}`, productName ?? name].filter((each) => each !== '').join(': ');
}

export function variantPage(view: VariantView, shown: Shown): Html {
  const { variant, upc } = view;
  const ids = [
    ['product', variant.productId],
    ['variant', variant.variantId],
    ['UPC', upc],
  ] as const;
  return html`<article>
      <header>
        <h1>${variantTitle(view)}</h1>
        ${variant.productId === null ? '' : rereadForm([variant.productId], 'Read from the store')}
      </header>
      <p class="row quiet">
        ${ids.map(([name, id]) => (id === null || id === '' ? '' : html`<span>${name} ${idView(id)}</span>`))}
        ${variant.kind === 'own' ? '' : html`<span>${variant.kind}</span>`}
      </p>
      ${openView(view, shown)} ${levelsView(view, shown)}
    </article>
    ${historyView(view, shown)}`;
}

function gapWords({ kind, fromQty, toQty }: VariantView['gaps'][number]): Html {
  const [from, to] = [html`<b>${quantity(fromQty)}</b>`, html`<b>${quantity(toQty)}</b>`];
  return kind === 'loss'
    ? html`the mirror had ${from}, but the next change began at ${to}: a delivery is late or lost.`
    : html`a delivery and a read came so close together that ${from} or ${to} may be the newer.`;
}

function openView(view: VariantView, { names, nowMs }: Shown): Html | '' {
  const { gaps, readRequest, goneAtMs, lookupAtMs, variant } = view;
  const lines: Html[] = [];
  if (goneAtMs !== null)
    lines.push(html`The store no longer has it; the mirror removed it ${ago(goneAtMs, nowMs)}.`);
  if (lookupAtMs !== null)
    lines.push(html`Its product is unknown; the catalogue will be searched at ${instant(lookupAtMs)}.`);
  for (const gap of gaps) {
    const due =
      gap.dueAtMs > nowMs
        ? `will be read in ${duration(gap.dueAtMs - nowMs)} unless a delivery ends this first`
        : 'is due to be read';
    const where = warehouseText(gap.warehouseId, names.get(gap.warehouseId));
    lines.push(
      html`In ${where} ${gapWords(gap)} Detected ${ago(gap.openedAtMs, nowMs)}; the product ${due}.`,
    );
  }
  if (readRequest !== null) {
    const isHeld = readRequest.held === 1;
    lines.push(
      html`Its product ${isHeld ? 'is kept until you allow removals' : 'will be read'}, because
      ${requestReasonWords(readRequest.reason)}; requested ${ago(readRequest.firstMadeAtMs, nowMs)}.`,
    );
  }
  if (readRequest !== null && readRequest.failedAtMs !== null)
    lines.push(
      html`The last read of its product failed ${ago(readRequest.failedAtMs, nowMs)}:
      ${marked(readRequest.lastError ?? '')}
      ${readRequest.parked === 1 ? 'The schedule or a resync will try again.' : html`The next attempt is at ${instant(readRequest.retryAtMs)}.`}`,
    );
  if (lines.length === 0 && variant.suspect)
    lines.push(html`It may have changed during downtime, or the store does not show its warehouses.`);
  if (lines.length === 0) return '';
  return html`<article class="warning" aria-label="Open issues">
    ${variant.suspect ? html`<b>Suspect: its values may be wrong.</b>` : ''}
    ${lines.map((line) => html`<p>${line}</p>`)}
  </article>`;
}

function levelsView({ variant, readAtMs }: VariantView, { names, nowMs }: Shown): Html {
  const rows = variant.levels.map((level) => ({
    id: `level-${level.warehouseId}`,
    cells: [
      warehouseView(level.warehouseId, names),
      html`<b>${quantity(level.qty)}</b>`,
      ...atHand(level, nowMs),
      doubtView(level),
      sourceView(level, nowMs),
    ],
  }));
  const total = {
    id: 'level-total',
    cells: [
      'Total',
      html`<b>${quantity(variant.availableQty)}</b>`,
      '',
      '',
      doubtView(variant),
      verification(variant.verifiedAtMs, nowMs),
    ],
  };
  return html`${table(
      [
        'Warehouse',
        numeric('To sell'),
        numeric('On hand'),
        numeric('Reserved'),
        'Not trusted',
        'Source and age',
      ],
      [...rows, total],
      '',
    )}
    <p class="quiet">
      ${readAtMs === null ? 'Its product has not been read yet.' : html`Its product was last read at ${instant(readAtMs)}.`}
    </p>`;
}

/** Only reads show them, so they are greyed once a webhook has changed the quantity. */
function atHand(level: StockLevelRow, nowMs: number): readonly (Html | string)[] {
  const { onHand, reservedQty, onHandAsOfMs, asOfMs } = level;
  const values = [onHand, reservedQty].map(quantity);
  if (onHandAsOfMs === null || onHandAsOfMs >= asOfMs) return values;
  const age = `${duration(nowMs - onHandAsOfMs)} old: read before the last change`;
  return values.map((value) => html`<span class="quiet" title="${age}">${value}</span>`);
}

function historyView({ variant, changes, hasMore }: VariantView, { names, beforeSeq }: Shown): Html {
  const here = `/variants/${variant.variantId}`;
  return html`<article id="history" aria-labelledby="history-title">
    <header><h2 id="history-title">History</h2></header>
    ${table(
      ['Recorded', 'Warehouse', numeric('From'), numeric('To'), numeric('Change'), 'Reason', 'By'],
      changes.map((change) => changeRow(change, names)),
      'No changes; those older than RETENTION_DAYS are pruned.',
    )}
    ${pager({
      first: beforeSeq === null ? null : here,
      next: hasMore ? `${here}?before=${changes.at(-1)?.seq}` : null,
    })}
  </article>`;
}

function changeRow(change: Change, names: WarehouseNames) {
  const { seq, recordedAtMs, warehouseId, oldQty, newQty, source, reason, inboxSeq } = change;
  return {
    id: `change-${seq}`,
    cells: [
      instant(recordedAtMs),
      warehouseId === null ? 'total' : warehouseView(warehouseId, names),
      quantity(oldQty),
      html`<b>${newQty === null ? 'removed' : quantity(newQty)}</b>`,
      oldQty === null || newQty === null ? '–' : signed(newQty - oldQty),
      source === 'webhook'
        ? html`<code>${reason ?? 'webhook'}</code> <a href="/deliveries/${inboxSeq}">delivery ${inboxSeq}</a>`
        : html`${readReasonName(reason ?? 'read')}
          ${reason === 'first_read' ? '' : html`<span class="quiet">found by a read</span>`}`,
      actorView(change),
    ],
  };
}
