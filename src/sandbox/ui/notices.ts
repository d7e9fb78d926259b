import { html } from 'hono/html';
import { available } from '../world/model.ts';
import type { PageDeps } from './deps.ts';
import type { Html } from '../../web/html.ts';
import type { Problem } from '../../web/told.ts';
import { addressOf, labelOf } from './view.ts';
import type { View } from './view.ts';

/** What to do about a refusal, by its text. */
const advice: readonly (readonly [RegExp, string])[] = [
  [/no such SKU/, 'Copy one from the stock list; SKUs are case-sensitive.'],
  [/is shared by the variants/, 'Order it by variant id instead.'],
  [/no such variant|no live variant/, 'It may have been deleted: choose another one from the stock list.'],
  [/fewer than \d+ sellable/, 'Order fewer, or set more stock first.'],
  [/^no webhooks are sent/, 'Set a webhook URL, and switch the event on, in the settings.'],
  [/no open order/, 'It has been cancelled or shipped; the list of orders shows its state.'],
  [/no live product/, 'It has been deleted.'],
  [/no deleted product/, 'It has already been restored.'],
  [/is a bundle/, 'Change the stock of its components.'],
  [/^webhook_url/, 'Type an address that begins with http:// or https://, or nothing to send no webhooks.'],
  [/^\w+(\.\w+|\[\d+\])*: /, 'Correct this field and send the form again.'],
];

/** What was wrong and what to do about it, in sentences. */
export function problemOf(message: string): Problem {
  // The page orders one product at a time, so the index in the list is of no use.
  const plain = message.replace(/^products\[0\]\.\w+: /, '');
  return {
    words: `${plain.charAt(0).toUpperCase()}${plain.slice(1)}.`,
    advice: advice.find(([words]) => words.test(message))?.[1] ?? 'Reload the page and try again.',
  };
}

/** The notice about a finished action, from the page's address and the store's current state. Undefined: none. */
export function noticeOf(deps: PageDeps, params: URLSearchParams, view: View): Html | undefined {
  const id = params.get('id') ?? '';
  switch (params.get('done') ?? '') {
    case 'stock':
      return stockNotice(deps, params.get('variant') ?? '', params.get('warehouse') ?? '');
    case 'placed':
      return orderNotice(deps, id, 'was placed; its stock is reserved');
    case 'canceled':
      return orderNotice(deps, id, 'was cancelled; its stock is available again');
    case 'paid':
      return orderNotice(deps, id, 'is paid');
    case 'deleted': {
      const product = deps.truth.products.find((each) => each.id === id);
      if (product?.deleted !== true) return undefined;
      return html`<form method="post" action="${addressOf('/page/restore-product', view)}">
        <b>${product.name}</b> was deleted. The store sends no webhook for a deletion.
        <input type="hidden" name="product_id" value="${id}" /><button>Restore it</button>
      </form>`;
    }
    case 'restored': {
      const product = deps.truth.product(id);
      return (
        product && html`<b>${product.name}</b> was restored. The store sends no webhook for this either.`
      );
    }
    case 'settings':
      return html`The settings were saved.`;
    case 'traffic': {
      const { rate } = deps.traffic;
      return rate === 0
        ? html`Random traffic has stopped.`
        : html`Random traffic makes ${rate} changes per second.`;
    }
    case 'faults':
      return html`The faults were applied.`;
    case 'lose-webhook': {
      const variant = deps.truth.variant(params.get('variant') ?? '');
      return (
        variant &&
        html`A webhook of <b>${labelOf(variant)}</b> was lost.
          <a href="#losses">See how the receiver finds out</a>.`
      );
    }
    case 'lose-next':
      return html`Webhooks that will be lost next: ${params.get('count') ?? ''}.`;
    default:
      return undefined;
  }
}

function stockNotice({ truth, network }: PageDeps, variantId: string, warehouseId: string): Html | undefined {
  const variant = truth.variant(variantId);
  const level = truth.stockLevel(variantId, warehouseId);
  if (variant === undefined || level === undefined) return undefined;
  const told = network.sends ? '' : ' No webhook was sent: see the settings.';
  return html`<b>${labelOf(variant)}</b> has ${available(level)} to sell in warehouse ${warehouseId}.${told}`;
}

function orderNotice({ book }: PageDeps, id: string, what: string): Html | undefined {
  return book.find(id) && html`Order <b>${id}</b> ${what}.`;
}
