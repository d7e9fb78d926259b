import { html } from 'hono/html';
import type { Loss } from '../network/losses.ts';
import type { PageDeps } from './deps.ts';
import type { Html } from '../../web/html.ts';
import { timeView } from './time-view.ts';
import { addressOf, labelOf, mirrorRow } from './view.ts';
import type { View } from './view.ts';

const LOSSES_SHOWN = 3;

/** A button that loses a webhook, and step by step what became of the latest ones. */
export function lossesView(
  { losses, network, mirrorUrl }: PageDeps,
  { view }: { readonly view: View },
): Html {
  return html`<section id="losses" aria-labelledby="losses-title">
    <header>
      <h2 id="losses-title">Lose a webhook</h2>
      <form method="post" action="${addressOf('/page/lose-webhook', view)}">
        <button class="main">Lose a webhook</button>
      </form>
    </header>
    <p class="quiet">
      Stock changes, and its webhook is never sent. A second later the same stock changes again: that webhook
      arrives.
    </p>
    <ol id="losses-list" class="cards" data-live="rows">
      ${losses.recent.slice(0, LOSSES_SHOWN).map((loss) => lossCard(loss, network.webhookUrl, mirrorUrl()))}
    </ol>
  </section>`;
}

function lossCard(loss: Loss, receiver: string | null, mirrorUrl: string | null): Html {
  const { variant, warehouseId, lost, change } = loss;
  const id = `loss-${lost.delivery.requestId}`;
  return html`<li id="${id}">
    <div class="row">
      <b class="sku">${labelOf(variant)}</b>
      <span class="quiet">warehouse ${warehouseId}</span>
      ${
        mirrorUrl === null
          ? ''
          : html`<a class="push" href="${mirrorRow(mirrorUrl, variant.id)}">in the mirror</a>`
      }
    </div>
    <ol id="${id}-steps" class="steps" data-live="steps">
      <li>
        <b class="state bad">lost</b> ${timeView(lost.createdAtMs)} the change
        <b>${change.old} → ${change.new}</b>: <code>${receiver ?? 'the receiver'}</code> still holds
        <b>${change.old}</b>
      </li>
      ${revealing(loss)} ${reading(loss)}
    </ol>
  </li>`;
}

function revealing({ revealedBy, change }: Loss): Html {
  if (revealedBy === null) {
    return html`<li><b class="state">next</b> waits for the next webhook of this stock to be accepted</li>`;
  }
  const { old, new: now } = revealedBy.change;
  return html`<li>
    <b class="state odd">seen</b> ${timeView(revealedBy.record.sentAtMs ?? revealedBy.record.createdAtMs)} the
    next webhook says <b>${old} → ${now}</b>: it begins at ${old}, not at ${change.old}, so one is missing
  </li>`;
}

function reading({ revealedBy, readAtMs }: Loss): Html {
  if (revealedBy === null) return html``;
  if (readAtMs === null) {
    return html`<li><b class="state">next</b> waits for the receiver to read the product</li>`;
  }
  const seconds = ((readAtMs - (revealedBy.record.sentAtMs ?? readAtMs)) / 1_000).toFixed(1);
  return html`<li>
    <b class="state good">read</b> ${timeView(readAtMs)} the product was read: its figure is right again,
    <b>${seconds} s</b> after the webhook that gave the loss away
  </li>`;
}
