import { html, raw } from 'hono/html';
import { CORRECTION_CAUSES, type CorrectionCause } from '../../core/causes.ts';
import type { Correction, Corrections } from '../../mirror/queries/page/drift.ts';
import { instant, quantity, signed } from './figures.ts';
import { idText } from './id-view.ts';
import type { Html } from '../../web/html.ts';
import { pager } from './pager.ts';
import type { WarehouseNames } from '../shared/warehouse-names.ts';
import { warehouseView } from './warehouse-view.ts';
import { causeName, causeWords } from '../shared/words.ts';

interface DriftView {
  /** Null: all except `derived`, which is no fault. */
  readonly cause: CorrectionCause | null;
  readonly beforeSeq: number | null;
}

export function readDriftView(params: URLSearchParams): DriftView {
  const before = params.get('before') ?? '';
  return {
    cause: CORRECTION_CAUSES.find((each) => each === params.get('cause')) ?? null,
    beforeSeq: /^\d{1,15}$/.test(before) ? Number(before) : null,
  };
}

export function causesOf({ cause }: DriftView): readonly CorrectionCause[] {
  return cause === null ? CORRECTION_CAUSES.filter((each) => each !== 'derived') : [cause];
}

function addressOf({ cause, beforeSeq }: DriftView): string {
  const params = new URLSearchParams();
  if (cause !== null) params.set('cause', cause);
  if (beforeSeq !== null) params.set('before', String(beforeSeq));
  return params.size === 0 ? '/drift' : `/drift?${params.toString()}`;
}

export function driftView(
  { corrections, hasMore }: Corrections,
  view: DriftView,
  names: WarehouseNames,
): Html {
  const oldest = corrections.at(-1);
  return html`<section aria-labelledby="drift-title">
    <header>
      <h2 id="drift-title">Differences that reads found and corrected</h2>
      <nav class="tabs" aria-label="Cause">
        ${[null, ...CORRECTION_CAUSES].map(
          (cause) =>
            html`<a
              href="${addressOf({ cause, beforeSeq: null })}"
              ${cause === view.cause ? raw('aria-current="true"') : ''}
              >${cause === null ? 'All faults' : causeName(cause)}</a
            >`,
        )}
      </nav>
    </header>
    <p class="quiet">
      The read that found a difference corrected it. A difference is closed once no further read of it is due.
      Nothing to do.
    </p>
    ${view.cause === null ? '' : html`<p class="quiet">${causeName(view.cause)}: ${causeWords(view.cause)}.</p>`}
    <div id="drift-list" data-live>
      ${
        corrections.length === 0
          ? html`<p class="none">
              ${view.beforeSeq === null ? 'None: every read found the figures that the mirror held.' : 'There are no more.'}
            </p>`
          : html`<table class="blocks">
              <thead>
                <tr>
                  <th scope="col">Corrected</th>
                  <th scope="col">Variant</th>
                  <th scope="col">Warehouse</th>
                  <th scope="col" class="figure">Mirror had</th>
                  <th scope="col" class="figure">Store has</th>
                  <th scope="col" class="figure">Off by</th>
                  <th scope="col">Cause</th>
                  <th scope="col">State</th>
                </tr>
              </thead>
              <tbody>
                ${corrections.map((correction) => correctionRow(correction, names))}
              </tbody>
            </table>`
      }
      ${pager({
        of: 'of the report',
        first: view.beforeSeq === null ? null : addressOf({ ...view, beforeSeq: null }),
        next: hasMore && oldest !== undefined ? addressOf({ ...view, beforeSeq: oldest.seq }) : null,
      })}
    </div>
  </section>`;
}

function correctionRow(correction: Correction, names: WarehouseNames): Html {
  const { seq, recordedAtMs, variantId, sku, warehouseId, oldQty, newQty, cause, isClosed } = correction;
  return html`<tr id="drift-${seq}" data-new>
    <th scope="row">${instant(recordedAtMs)}</th>
    <td data-label="variant"><a href="/variants/${variantId}" class="sku">${sku ?? idText(variantId)}</a></td>
    <td class="warehouse" data-label="warehouse">
      ${warehouseId === null ? 'total' : warehouseView(warehouseId, names)}
    </td>
    <td class="figure" data-label="mirror had">${quantity(oldQty)}</td>
    <td class="figure strong" data-label="store has">${newQty === null ? 'nothing' : quantity(newQty)}</td>
    <td class="figure" data-label="off by">
      ${oldQty === null || newQty === null ? '' : signed(newQty - oldQty)}
    </td>
    <td data-label="cause">${causeName(cause)} <span class="quiet">${causeWords(cause)}</span></td>
    <td data-label="state">
      ${isClosed ? html`<span class="state good">closed</span>` : html`<span class="state odd">open: read due</span>`}
    </td>
  </tr>`;
}
