import { html } from 'hono/html';
import { curlOf } from '../shared/curl.ts';
import type { DeliveryRecord } from '../network/deliveries.ts';
import type { Replay } from '../network/replays.ts';
import type { Delivery } from '../network/webhooks.ts';
import { copyable } from './calls-view.ts';
import type { PageDeps } from './deps.ts';
import type { Html } from '../../web/html.ts';
import { timeView } from './time-view.ts';
import { mirrorRow } from './view.ts';
import { fateOf } from './webhooks-view.ts';

interface Asked {
  /** All with the same bytes: the first one, and repeats. */
  readonly records: readonly DeliveryRecord[];
  readonly delivery: Delivery;
  /** The address in the form, when it was refused. */
  readonly url: string | undefined;
}

/** One webhook whole: its bytes, its signature, its fate, and a way to send it again. */
export function webhookPage(deps: PageDeps, { records, delivery, url }: Asked): Html {
  const { network, replays, webhookSecret } = deps;
  const { requestId, headers, body } = delivery;
  const text = body.toString('utf8');
  const target = url ?? records.at(-1)?.url ?? network.webhookUrl ?? '';
  const entries = Object.entries(headers);
  const signature = headers['X-Service-Signature'] ?? '';
  return html`<section aria-labelledby="webhook-title">
      <header>
        <h2 id="webhook-title">Webhook <code>${requestId}</code></h2>
      </header>
      <div id="webhook-fates" data-live="whole">${records.map(fateLine)}</div>
      <h3>Changes</h3>
      <ul class="plain">
        ${delivery.items.map((item) => itemLine(item, deps.mirrorUrl()))}
      </ul>
      <h3>Body, ${body.length} bytes as they were signed</h3>
      <pre id="webhook-body" tabindex="0">${text}</pre>
      <h3>Headers</h3>
      <pre tabindex="0">${entries.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
    </section>
    <section aria-labelledby="again-title">
      <header><h2 id="again-title">Send it again</h2></header>
      <p class="quiet">The same bytes with the same signature, once, past all faults.</p>
      <form method="post" action="/page/replay" class="row">
        <input type="hidden" name="request_id" value="${requestId}" />
        <label class="hidden" for="replay-url">Address</label>
        <input
          id="replay-url"
          class="long"
          name="url"
          type="url"
          value="${target}"
          required
          spellcheck="false"
        />
        <button class="main">Send again</button>
      </form>
      <div id="replays" data-live="whole">${replays.of(requestId).map(replayLine)}</div>
      ${copyable('curl', 'With curl', curlOf({ method: 'POST', url: target, headers: entries, body: text }))}
      <h3>The signature</h3>
      <p>
        HMAC-SHA256 over the raw bytes of the body, in lowercase hexadecimal digits; its key is the webhook
        secret
        ${
          deps.isSignedNow(delivery)
            ? html`<code>${webhookSecret()}</code>`
            : 'that was in force then, or that of another app'
        }:
      </p>
      <pre tabindex="0">${signature}</pre>
    </section>`;
}

function fateLine(record: DeliveryRecord): Html {
  const { duplicate, url, problem, clientId, createdAtMs } = record;
  return html`<p>
    ${fateOf(record)} at ${timeView(createdAtMs)} for <code>${clientId}</code>
    ${url === null ? '' : html`to <code>${url}</code>`}
    ${duplicate ? html`<span class="quiet">repeat of the same bytes</span>` : ''}
    ${problem === null ? '' : html`<span class="advice">${problem}</span>`}
  </p>`;
}

function replayLine({ atMs, url, transmission, ms }: Replay): Html {
  const took = html`in ${Math.round(ms)} ms`;
  const fate =
    transmission.outcome === 'answered'
      ? html`<b class="state ${transmission.status < 300 ? 'good' : 'bad'}">${transmission.status}</b>
          ${took}`
      : transmission.outcome === 'timeout'
        ? html`<b class="state bad">no answer</b> ${took}`
        : html`<b class="state bad">not reached</b>
            <span class="advice">${transmission.problem ?? ''}</span>`;
  return html`<p>${fate} at ${timeView(atMs)} to <code>${url}</code></p>`;
}

function itemLine(item: Delivery['items'][number], mirrorUrl: string | null): Html {
  return html`<li>
    <span class="sku">${item.sku === '' ? 'no SKU' : item.sku}</span>
    <b>${item.old} → ${item.new}</b> ${item.reason}
    <span class="quiet">variant ${item.id} in warehouse ${item.warehouse_id}</span>
    ${mirrorUrl === null ? '' : html`<a href="${mirrorRow(mirrorUrl, item.id)}">in the mirror</a>`}
  </li>`;
}
