import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import type { DeliveryRecord } from '../network/deliveries.ts';
import type { Loss } from '../network/losses.ts';
import type { Store } from '../store.ts';
import type { SentItem } from '../world/ledger.ts';
import { labelOf } from './stock-view.ts';

const LOSSES_SHOWN = 3;
const DELIVERIES_SHOWN = 8;
const ITEMS_SHOWN = 3;

export function lossesView({ losses }: Store, action: string): Html {
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
      ${losses.recent.slice(0, LOSSES_SHOWN).map(lossCard)}
    </ol>
  </article>`;
}

function lossCard(loss: Loss): Html {
  const { variant, warehouseId, lost, change, revealedBy, readAtMs } = loss;
  const step = (style: string, word: string, words: Html | string): Html =>
    html`<li><b class="state ${style}">${word}</b> ${words}</li>`;
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
    <b>${labelOf(variant)}</b>
    <span class="quiet">in warehouse ${warehouseId}</span>
    <ol>
      ${steps}
    </ol>
  </li>`;
}

export function webhooksView({ deliveries, network, requests }: Store): Html {
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
    <p class="quiet">
      API requests:
      ${
        Object.entries(requests)
          .map(([path, count]) => `${path} ${count}`)
          .join(', ') || 'none'
      }.
    </p>
  </article>`;
}

function deliveryCard(record: DeliveryRecord): Html {
  const { delivery, duplicate, createdAtMs } = record;
  const { requestId, items } = delivery;
  return html`<li id="hook-${requestId}${duplicate ? `-${createdAtMs}` : ''}">
    <div class="row">
      <span>${fateOf(record)}</span>
      <code>${requestId}</code>
      ${duplicate ? html`<span class="quiet">same bytes again</span>` : ''}
      <span class="quiet push">${timeView(createdAtMs)}</span>
    </div>
    ${items.slice(0, ITEMS_SHOWN).map(itemLine)}
    ${items.length > ITEMS_SHOWN ? html`<div class="quiet">and ${items.length - ITEMS_SHOWN} more</div>` : ''}
  </li>`;
}

function fateOf({ outcome, status, ms, sentAtMs, problem }: DeliveryRecord): Html {
  const fates = {
    pending: ['', sentAtMs === null ? 'waiting' : 'sent', ''],
    answered: [status !== null && status < 300 ? 'good' : 'bad', status, took(ms)],
    timeout: ['bad', 'no answer', took(ms)],
    failed: ['bad', 'not reached', problem ?? ''],
    lost: ['odd', 'lost', 'never sent'],
  } as const;
  const [style, word, more] = fates[outcome];
  return html`<b class="state ${style}">${word}</b> ${more}`;
}

function itemLine(item: SentItem): Html {
  return html`<div>
    ${item.sku === '' ? item.id : item.sku}
    <b>${item.old} → ${item.new}</b> ${item.reason} <span class="quiet">in ${item.warehouse_id}</span>
  </div>`;
}

/** In the machine's time zone, which is also the reader's. */
function timeView(atMs: number): Html {
  const at = new Date(atMs);
  const local = new Date(atMs - at.getTimezoneOffset() * 60_000);
  return html`<time datetime="${at.toISOString()}">${local.toISOString().slice(11, 23)}</time>`;
}

function took(ms: number | null): string {
  return `in ${Math.round(ms ?? 0)} ms`;
}
