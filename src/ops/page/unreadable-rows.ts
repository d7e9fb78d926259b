/** What of a delivery was not understood, as rows of a table of deliveries. */
import { html } from 'hono/html';
import type { Unreadable } from '../../core/input.ts';
import type { Html } from '../../web/html.ts';
import { idText } from './id-view.ts';

export function unreadableRows(unreadable: readonly Unreadable[], columns: number): Html[] {
  return unreadable.map(
    ({ problem, variantId }) =>
      html`<tr class="more">
        <td class="whole down" colspan="${columns}">
          ${problem}${variantId === null ? '' : html` (<a href="/variants/${variantId}">variant ${idText(variantId)}</a>)`}
          <span class="quiet">kept, not applied; ${readInstead(variantId)}</span>
        </td>
      </tr>`,
  );
}

function readInstead(variantId: string | null): string {
  return variantId === null
    ? 'it may be about any product, so those that changed last are read'
    : 'the variant’s product is read instead';
}
