import { html } from 'hono/html';
import { LATEST_MS } from '../../core/limits.ts';
import type { VariantChange, VariantView } from '../../mirror/queries/page/variant.ts';
import { ago, count, duration, instant, quantity, signed } from './figures.ts';
import { idView } from './id-view.ts';
import type { Html } from '../../web/html.ts';
import { pager } from './pager.ts';
import { warehouseText, type WarehouseNames } from '../shared/warehouse-names.ts';
import { warehouseView } from './warehouse-view.ts';
import { freshness } from './stock-view.ts';
import { causeName, reasonWords } from '../shared/words.ts';

interface Shown {
  readonly names: WarehouseNames;
  readonly nowMs: number;
}

export function variantPage(view: VariantView, beforeSeq: number | null, shown: Shown): Html {
  const { variant } = view;
  return html`<div id="variant" data-live class="stack">${issues(view, shown)} ${levels(view, shown)}</div>
    ${
      variant.productId === null
        ? ''
        : html`<section aria-labelledby="reread-title">
            <header>
              <h2 id="reread-title">Read it again</h2>
              <form method="post" action="/page/resync-products">
                <input type="hidden" name="back" value="/variants/${variant.variantId}" />
                <input type="hidden" name="product_ids" value="${variant.productId}" />
                <button class="main">Read product ${variant.productId}</button>
              </form>
            </header>
          </section>`
    }
    <div id="history" data-live class="stack">${history(view, beforeSeq, shown.names)}</div>`;
}

function issues(
  { gaps, readRequest, failure, goneAtMs, lookupAtMs, variant }: VariantView,
  { names, nowMs }: Shown,
): Html {
  const lines: Html[] = [];
  if (goneAtMs !== null)
    lines.push(html`The store no longer has it; the mirror removed it ${ago(goneAtMs, nowMs)}.`);
  if (lookupAtMs !== null)
    lines.push(
      html`Its product is not known yet: the catalogue is searched for it at ${instant(lookupAtMs)}.`,
    );
  for (const gap of gaps) {
    lines.push(
      html`In ${warehouseText(gap.warehouseId, names.get(gap.warehouseId))} the mirror held
        <b>${quantity(gap.fromQty)}</b>, and the next change began at <b>${quantity(gap.toQty)}</b>: a
        delivery from the store is late or lost. Found ${ago(gap.openedAtMs, nowMs)};
        ${gap.dueAtMs > nowMs ? html`the product is read in ${duration(gap.dueAtMs - nowMs)} unless it comes` : 'the product is due to be read'}.`,
    );
  }
  if (readRequest !== null) {
    const held = readRequest.notBeforeMs >= LATEST_MS;
    lines.push(
      html`Its product ${held ? 'is kept until you allow removals' : 'will be read again'}, because
      ${reasonWords(readRequest.reason)}; requested
      ${ago(readRequest.sinceMs, nowMs)}${readRequest.isSuspect ? '' : '. Its figures are not suspect'}.`,
    );
  }
  if (failure !== null) {
    lines.push(
      html`The last read of its product failed, ${ago(failure.failedAtMs, nowMs)}:
        <code>${failure.error}</code>
        ${failure.parked ? 'The schedule or a resync tries it once more.' : html`It is tried again at ${instant(failure.nextAtMs)}.`}`,
    );
  }
  if (lines.length === 0 && variant.suspect)
    lines.push(
      html`It may have changed during downtime, or the store does not show its warehouses: it is suspect.`,
    );
  return html`<section aria-labelledby="issues-title">
    <header>
      <h2 id="issues-title">Open issues</h2>
      ${
        lines.length === 0 && !variant.suspect
          ? html`<span class="state good">none</span>`
          : variant.suspect
            ? html`<span class="state odd">suspect</span>`
            : ''
      }
    </header>
    ${
      lines.length === 0
        ? ''
        : html`<ul class="list">
            ${lines.map((line) => html`<li>${line}</li>`)}
          </ul>`
    }
  </section>`;
}

function levels({ variant, lastRead, upc }: VariantView, { names, nowMs }: Shown): Html {
  const told = new Map(lastRead?.levels?.map((level) => [level.warehouseId, level]) ?? []);
  const total = told.get(null);
  const row = (
    /** Null: the total. */
    id: string | null,
    qty: number | null,
    read: number | null | undefined,
    fresh: Html,
  ): Html => {
    const differs = read !== undefined && read !== null && qty !== null && read !== qty;
    return html`<tr id="level-${id ?? 'total'}">
      <th scope="row">${id === null ? 'Total' : warehouseView(id, names)}</th>
      <td class="figure strong" data-label="mirror">${quantity(qty)}</td>
      <td class="figure" data-label="last read">
        ${read === undefined ? '–' : quantity(read)}${differs ? html` <span class="quiet">${signed(qty - read)} since</span>` : ''}
      </td>
      <td class="whole">${fresh}</td>
    </tr>`;
  };
  return html`<section aria-labelledby="levels-title">
    <header>
      <h2 id="levels-title">Stock</h2>
      <span class="quiet">
        ${[
          variant.productId === null ? null : html`product ${idView(variant.productId)}`,
          html`variant ${idView(variant.variantId)}`,
          upc === null || upc === '' ? null : html`UPC ${idView(upc)}`,
          variant.kind === 'own' ? null : html`${variant.kind}`,
        ]
          .filter((each) => each !== null)
          .map((each, index) => html`${index > 0 ? ' · ' : ''}${each}`)}
      </span>
    </header>
    <table class="blocks">
      <thead>
        <tr>
          <th scope="col">Warehouse</th>
          <th scope="col" class="figure">Mirror</th>
          <th scope="col" class="figure">Last read</th>
          <th scope="col">Freshness</th>
        </tr>
      </thead>
      <tbody>
        ${variant.levels.map((level) =>
          row(
            level.warehouseId,
            level.qty,
            told.get(level.warehouseId)?.qty,
            freshness(level, level.warehouseId, nowMs),
          ),
        )}
        ${row(
          null,
          variant.availableQty,
          total?.qty,
          html`<span class="quiet"
            >${variant.verifiedAtMs === null ? 'never verified' : html`verified ${ago(variant.verifiedAtMs, nowMs)}`}</span
          >`,
        )}
      </tbody>
    </table>
    <p class="quiet">
      ${
        lastRead === null
          ? 'Its product has not been read yet.'
          : html`Its product was last read ${ago(lastRead.atMs, nowMs)}, at
            ${instant(lastRead.atMs)}${
              lastRead.levels === null
                ? '; this variant was no longer in it'
                : told.size === 1
                  ? '; reads do not show its warehouses'
                  : ''
            }.`
      }
    </p>
  </section>`;
}

function history(
  { variant, changes, hasMore }: VariantView,
  beforeSeq: number | null,
  names: WarehouseNames,
): Html {
  const oldest = changes.at(-1);
  const here = `/variants/${variant.variantId}`;
  return html`<section aria-labelledby="history-title">
    <header>
      <h2 id="history-title">History</h2>
      <span class="quiet">${count(changes.length, 'change')}${hasMore ? ', and older ones' : ''}</span>
    </header>
    ${
      changes.length === 0
        ? html`<p class="none">
            ${beforeSeq === null ? 'There are no changes; those older than RETENTION_DAYS are pruned.' : 'There are no more.'}
          </p>`
        : html`<table class="blocks">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Warehouse</th>
                <th scope="col" class="figure">From</th>
                <th scope="col" class="figure">To</th>
                <th scope="col" class="figure">Change</th>
                <th scope="col">Why</th>
                <th scope="col">By</th>
              </tr>
            </thead>
            <tbody>
              ${changes.map((change) => changeRow(change, names))}
            </tbody>
          </table>`
    }
    ${pager({
      of: 'of the changes',
      first: beforeSeq === null ? null : here,
      next: hasMore && oldest !== undefined ? `${here}?before=${oldest.seq}` : null,
    })}
  </section>`;
}

function changeRow(change: VariantChange, names: WarehouseNames): Html {
  const { seq, recordedAtMs, warehouseId, oldQty, newQty } = change;
  const moved = oldQty === null || newQty === null ? null : newQty - oldQty;
  return html`<tr id="change-${seq}" data-new>
    <th scope="row">${instant(recordedAtMs)}</th>
    <td class="warehouse" data-label="warehouse">
      ${warehouseId === null ? 'total' : warehouseView(warehouseId, names)}
    </td>
    <td class="figure" data-label="from">${quantity(oldQty)}</td>
    <td class="figure strong" data-label="to">${newQty === null ? 'removed' : quantity(newQty)}</td>
    <td class="figure ${moved === null ? '' : moved < 0 ? 'down' : 'up'}" data-label="change">
      ${moved === null ? '–' : signed(moved)}
    </td>
    <td data-label="why">${whyWords(change)}</td>
    <td class="actor" data-label="by">${actor(change)}</td>
  </tr>`;
}

function whyWords({ source, reason, inboxSeq }: VariantChange): Html {
  if (source === 'webhook') {
    return html`<code>${reason ?? 'webhook'}</code>
      <a class="quiet" href="/deliveries/${inboxSeq}">delivery ${inboxSeq}</a>`;
  }
  return html`${causeName(reason ?? 'read')} <span class="quiet">found by a read</span>`;
}

function actor({ source, orderId, userId, requestId }: VariantChange): Html {
  const named = [
    orderId === null ? null : html`order ${idView(orderId)}`,
    userId === null ? null : html`user ${idView(userId)}`,
  ].filter((each) => each !== null);
  if (named.length > 0) return html`${named.map((each, index) => html`${index > 0 ? ', ' : ''}${each}`)}`;
  if (source === 'webhook' && requestId !== null)
    return html`<span class="quiet">request ${idView(requestId)}</span>`;
  return html`–`;
}
