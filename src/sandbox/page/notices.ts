import { html } from 'hono/html';
import { available } from '../model.ts';
import type { PageDeps } from './deps.ts';
import type { Html } from '../../page/html.ts';
import type { Problem } from '../../page/told.ts';
import { addressOf, labelOf } from './view.ts';
import type { View } from './view.ts';

/** What to do about a refusal, by its words. */
const advice: readonly (readonly [RegExp, string])[] = [
  [/no such SKU/, 'Copy one from the list of stock; upper and lower case count.'],
  [/is shared by the variants/, 'Order it by the id of the variant that you mean.'],
  [/no such variant|no live variant/, 'It may have been deleted: look for another in the list of stock.'],
  [/fewer than \d+ sellable/, 'Order fewer, or set more stock first.'],
  [/no open order/, 'It was cancelled or shipped meanwhile; the list of orders shows its state.'],
  [/no live product/, 'It was deleted meanwhile.'],
  [/no deleted product/, 'It is there already.'],
  [/is a bundle/, 'Change the stock of what it is made of.'],
  [/^webhook_url/, 'Type an address that begins with http:// or https://, or nothing to send none.'],
  [/^\w+(\.\w+|\[\d+\])*: /, 'Correct the field that is named, and send it again.'],
];

/** What was wrong and what to do about it, as sentences. */
export function problemOf(message: string): Problem {
  // The page orders one thing at a time, so that the place in a list of products says nothing.
  const plain = message.replace(/^products\[0\]\.\w+: /, '');
  return {
    words: `${plain.charAt(0).toUpperCase()}${plain.slice(1)}.`,
    advice: advice.find(([words]) => words.test(message))?.[1] ?? 'Reload the page, and try again.',
  };
}

/** What has been done, in words, from what the address says and the store shows now. Undefined for nothing. */
export function noticeOf(deps: PageDeps, params: URLSearchParams, view: View): Html | undefined {
  const id = params.get('id') ?? '';
  switch (params.get('done') ?? '') {
    case 'stock':
      return stockNotice(deps, params.get('variant') ?? '', params.get('warehouse') ?? '');
    case 'placed':
      return orderNotice(deps, id, 'was placed, and its stock is reserved');
    case 'canceled':
      return orderNotice(deps, id, 'was cancelled, and its stock came back');
    case 'paid':
      return orderNotice(deps, id, 'is paid');
    case 'deleted': {
      const product = deps.truth.products.find((each) => each.id === id);
      if (product?.deleted !== true) return undefined;
      return html`<form method="post" action="${addressOf('/page/restore-product', view)}">
        <b>${product.name}</b> was deleted. The service tells nobody: no webhook was sent.
        <input type="hidden" name="product_id" value="${id}" /><button>Restore it</button>
      </form>`;
    }
    case 'restored': {
      const product = deps.truth.product(id);
      return product && html`<b>${product.name}</b> was restored. No webhook tells of that either.`;
    }
    case 'settings':
      return html`The settings were saved.`;
    case 'traffic': {
      const { rate } = deps.traffic;
      return rate === 0
        ? html`The random traffic has stopped.`
        : html`Random traffic makes ${rate} changes per second.`;
    }
    case 'faults':
      return html`The faults are in force.`;
    case 'lose-next':
      return html`The next webhooks to be lost: ${params.get('count') ?? ''}.`;
    default:
      return undefined;
  }
}

function stockNotice({ truth, network }: PageDeps, variantId: string, warehouseId: string): Html | undefined {
  const variant = truth.variant(variantId);
  const cell = truth.cell(variantId, warehouseId);
  if (variant === undefined || cell === undefined) return undefined;
  const told = isTold(network) ? '' : ' No webhook was sent: see the settings.';
  return html`<b>${labelOf(variant)}</b> has ${available(cell)} to sell in warehouse ${warehouseId}.${told}`;
}

function orderNotice({ book }: PageDeps, id: string, what: string): Html | undefined {
  return book.find(id) && html`Order <b>${id}</b> ${what}.`;
}

/** Whether anybody is told of changes. */
export function isTold({ enabled, webhookUrl }: PageDeps['network']): boolean {
  return enabled && webhookUrl !== null && webhookUrl !== '';
}
