import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import type { DeliveryRecord } from '../network/deliveries.ts';
import type { Loss } from '../network/losses.ts';
import type { Delivery } from '../network/webhooks.ts';
import type { Store } from '../sandbox.ts';
import { curlOf, headerLines, rawText, timeView, took } from './raw-view.ts';
import { labelOf } from './stock-view.ts';

const LOSSES_SHOWN = 3;
const DELIVERIES_SHOWN = 30;
const ITEMS_SHOWN = 8;

export function lossesView({ losses, mirrorUrl }: Store, action: string): Html {
  return html`<article id="losses" aria-labelledby="losses-title">
    <header>
      <h2 id="losses-title">Lose a webhook</h2>
      <form method="post" action="${action}" data-stay><button>Lose a webhook</button></form>
    </header>
    <p class="quiet">
      Changes a stock level without sending its webhook. One second later the same level changes again, and
      that webhook is sent.
    </p>
    <ol id="losses-list">
      ${losses.recent.slice(0, LOSSES_SHOWN).map((loss) => lossCard(loss, mirrorUrl))}
    </ol>
  </article>`;
}

function lossCard(loss: Loss, mirrorUrl: string | null): Html {
  const { variant, warehouseId, lost, change, revealedBy, readAtMs } = loss;
  const step = (look: string, word: string, words: Html | string): Html =>
    html`<li><b class="state ${look}">${word}</b> ${words}</li>`;
  const steps = [
    step('bad', 'lost', html`${timeView(lost.createdAtMs)} ${change.old} → ${change.new} was never sent`),
  ];
  if (revealedBy === null) {
    steps.push(step('', 'next', 'the receiver accepts the next webhook of this level'));
  } else {
    const { change: next, record } = revealedBy;
    const revealedAtMs = record.sentAtMs ?? 0;
    steps.push(
      step(
        'odd',
        'seen',
        html`${timeView(revealedAtMs)} the next webhook says ${next.old} → ${next.new}: it begins at
        ${next.old}, not at ${change.old}, so one is missing`,
      ),
      readAtMs === null
        ? step('', 'next', 'the receiver reads the product')
        : step(
            'good',
            'read',
            html`${timeView(readAtMs)} the receiver read the product,
              <b>${((readAtMs - revealedAtMs) / 1_000).toFixed(1)}&nbsp;s</b> later`,
          ),
    );
  }
  return html`<li id="loss-${lost.delivery.requestId}">
    <b>${labelOf(variant)}</b> <span class="quiet">in warehouse ${warehouseId}</span>
    ${mirrorLink(mirrorUrl, variant.id)}
    <ol>
      ${steps}
    </ol>
  </li>`;
}

export function webhooksView({ deliveries, network }: Store): Html {
  const { counts } = deliveries;
  return html`<article id="webhooks" aria-labelledby="webhooks-title">
    <header><h2 id="webhooks-title">Webhooks</h2></header>
    <p class="quiet">
      ${
        network.sends
          ? html`To <code>${network.webhookUrl ?? ''}</code>: ${counts.answered} answered, ${counts.timeout}
              timed out, ${counts.failed} not reached, ${counts.lost} lost, ${counts.pending} in transit.`
          : html`<b>No webhooks are sent:</b>
              ${network.enabled ? 'no URL is set' : 'the event is switched off'}.`
      }
    </p>
    <ol id="webhooks-list">
      ${deliveries.records.slice(-DELIVERIES_SHOWN).reverse().map(deliveryCard)}
    </ol>
  </article>`;
}

function deliveryCard(record: DeliveryRecord): Html {
  const { delivery, duplicate, createdAtMs } = record;
  const { requestId, items } = delivery;
  return html`<li id="hook-${requestId}${duplicate ? `-${createdAtMs}` : ''}">
    <div class="row">
      <span>${fateOf(record)}</span>
      <a href="/webhooks/${encodeURIComponent(requestId)}"><code>${requestId}</code></a>
      ${duplicate ? html`<span class="quiet">same bytes again</span>` : ''}
      <span class="quiet push">${timeView(createdAtMs)}</span>
    </div>
    ${items.slice(0, ITEMS_SHOWN).map((item) => itemLine(item, null))}
    ${items.length > ITEMS_SHOWN ? html`<div class="quiet">and ${items.length - ITEMS_SHOWN} more</div>` : ''}
  </li>`;
}

export function webhookView(store: Store, records: readonly DeliveryRecord[], delivery: Delivery): Html {
  const { requestId, body } = delivery;
  const headers = Object.entries(delivery.headers);
  const text = body.toString('utf8');
  const url = records.findLast((record) => record.url !== null)?.url ?? store.network.webhookUrl ?? '';
  return html`<article aria-labelledby="webhook-title">
    <header>
      <h2 id="webhook-title">Webhook <code>${requestId}</code></h2>
    </header>
    ${records.map(fateLine)} ${delivery.items.map((item) => itemLine(item, store.mirrorUrl))}
    <form method="post" action="/page/replay" class="row" data-stay>
      <input type="hidden" name="request_id" value="${requestId}" />
      <input name="url" size="40" value="${url}" required spellcheck="false" aria-label="Address" />
      <button>Send again</button>
    </form>
    <h3>Headers</h3>
    ${rawText(headerLines(headers))}
    <h3>Body, ${body.length} bytes as they were signed</h3>
    ${rawText(text)}
    <h3>With curl</h3>
    ${rawText(curlOf({ method: 'POST', url, headers, body: text }), 'curl')}
  </article>`;
}

function fateLine(record: DeliveryRecord): Html {
  const { url, problem, clientId, createdAtMs } = record;
  return html`<p>
    ${fateOf(record)} at ${timeView(createdAtMs)} for <code>${clientId}</code>
    ${url === null ? '' : html`to <code>${url}</code>`} ${problem ?? ''}
  </p>`;
}

function fateOf({ outcome, status, ms, sentAtMs }: DeliveryRecord): Html {
  const fates = {
    pending: ['', sentAtMs === null ? 'waiting' : 'sent', ''],
    answered: [status !== null && status < 300 ? 'good' : 'bad', status, took(ms)],
    timeout: ['bad', 'no answer', took(ms)],
    failed: ['bad', 'not reached', ''],
    lost: ['odd', 'lost', 'never sent'],
  } as const;
  const [look, word, more] = fates[outcome];
  return html`<b class="state ${look}">${word}</b> ${more}`;
}

function itemLine(item: Delivery['items'][number], mirrorUrl: string | null): Html {
  return html`<div>
    ${item.sku === '' ? item.id : item.sku}
    <b>${item.old} → ${item.new}</b> ${item.reason}
    <span class="quiet">in ${item.warehouse_id}</span> ${mirrorLink(mirrorUrl, item.id)}
  </div>`;
}

function mirrorLink(mirrorUrl: string | null, variantId: string): Html | '' {
  if (mirrorUrl === null) return '';
  const url = new URL(`variants/${encodeURIComponent(variantId)}`, `${mirrorUrl.replace(/\/+$/, '')}/`);
  return html`<a href="${url.href}">in the mirror</a>`;
}
