import { html, raw } from 'hono/html';
import type { DeliveryPage, LoggedDelivery, Quarantined } from '../../store/queries/page-deliveries.ts';
import type { RejectedRequest } from '../rejected.ts';
import type { SlowAnswer } from '../timeline.ts';
import { bytes, count, instant, millis, quantity, signed } from './figures.ts';
import type { Html } from '../../page/html.ts';
import { rejectionWords } from './words.ts';

export const LISTS = {
  all: 'All',
  quarantined: 'Not understood',
  slow: 'Slow answers',
  rejected: 'Refused',
} as const;
export type List = keyof typeof LISTS;

export function readList(params: URLSearchParams): List {
  const asked = params.get('show') ?? '';
  return Object.hasOwn(LISTS, asked) ? (asked as List) : 'all';
}

/** The others of a delivery are behind a summary. */
const ITEMS_SHOWN = 8;

export function deliveriesFrame(list: List, explanation: string, content: Html): Html {
  return html`<section aria-labelledby="deliveries-title">
    <header>
      <h2 id="deliveries-title">${explanation}</h2>
      <nav class="tabs" aria-label="Which deliveries">
        ${Object.entries(LISTS).map(
          ([name, words]) =>
            html`<a
              href="${name === 'all' ? '/deliveries' : `/deliveries?show=${name}`}"
              ${name === list ? raw('aria-current="true"') : ''}
              >${words}</a
            >`,
        )}
      </nav>
    </header>
    <div id="deliveries-${list}" data-live>${content}</div>
  </section>`;
}

export function loggedView({ deliveries, next }: DeliveryPage, isFirst: boolean): Html {
  return html`${
      deliveries.length === 0
        ? html`<p class="none">
            ${next === null ? 'None is on record.' : 'None in this part of the log, which has other entries too.'}
          </p>`
        : html`<ol class="list">
            ${deliveries.map(deliveryItem)}
          </ol>`
    }
    <nav class="row pager" aria-label="Pages of the deliveries">
      ${isFirst ? '' : html`<a href="/deliveries">← Newest</a>`}
      ${next === null ? '' : html`<a href="/deliveries?before=${next}">Older →</a>`}
    </nav>`;
}

function deliveryItem({ seq, atMs, bytes: size, requestId, changes, unreadable }: LoggedDelivery): Html {
  const shown = changes?.slice(0, ITEMS_SHOWN) ?? [];
  const more = changes?.slice(ITEMS_SHOWN) ?? [];
  return html`<li id="delivery-${seq}" data-new>
    <div class="row">
      ${instant(atMs)}
      <span class="quiet"
        >${changes === null ? 'too large to be shown' : count(changes.length, 'change')} · ${bytes(size)} ·
        log ${seq}</span
      >
      ${unreadable.length > 0 ? html`<span class="state bad">not understood</span>` : ''}
      <span class="quiet push">${requestId === null ? '' : html`request <code>${requestId}</code>`}</span>
    </div>
    <ul class="items">
      ${shown.map(changeLine)} ${unreadable.slice(0, ITEMS_SHOWN).map(problemLine)}
    </ul>
    ${
      more.length === 0
        ? ''
        : html`<details id="more-${seq}">
            <summary>${count(more.length, 'more change')}</summary>
            <ul class="items">
              ${more.map(changeLine)}
            </ul>
          </details>`
    }
  </li>`;
}

function changeLine(change: NonNullable<LoggedDelivery['changes']>[number]): Html {
  const { variantId, sku, old, warehouseId, reason, orderId, userId } = change;
  return html`<li>
    <a href="/variants/${variantId}" class="sku">${sku ?? variantId}</a>
    <b>${quantity(old)} → ${quantity(change.new)}</b>
    <span class="quiet">${signed(change.new - old)}</span> ${reason ?? ''}
    <span class="quiet">in ${warehouseId}</span>
    ${orderId === null ? '' : html`<span class="quiet">order ${orderId}</span>`}
    ${userId === null ? '' : html`<span class="quiet">user ${userId}</span>`}
  </li>`;
}

function problemLine({ problem, variantId }: LoggedDelivery['unreadable'][number]): Html {
  return html`<li class="down">
    ${problem}${variantId === null ? '' : html` (<a href="/variants/${variantId}">variant ${variantId}</a>)`}
  </li>`;
}

export function quarantinedView(items: readonly Quarantined[]): Html {
  if (items.length === 0) return html`<p class="none">None: every authentic delivery was understood.</p>`;
  return html`<p class="quiet">
      They were answered 204 and are kept; their neighbours count, and what they named was read instead.
      Nothing needs to be done, but a new kind of problem is worth a word with the service’s operator.
    </p>
    <table class="blocks">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Problem</th>
          <th scope="col">Variant</th>
          <th scope="col" class="figure">Log</th>
        </tr>
      </thead>
      <tbody>
        ${items.map(
          ({ id, atMs, problem, variantId, logSeq }) =>
            html`<tr id="quarantine-${id}" data-new>
              <th scope="row">${atMs === null ? 'pruned' : instant(atMs)}</th>
              <td class="whole">${problem}</td>
              <td data-label="variant">
                ${variantId === null ? 'not named' : html`<a href="/variants/${variantId}">${variantId}</a>`}
              </td>
              <td class="figure" data-label="log">
                <a href="/deliveries?before=${logSeq + 1}">${logSeq}</a>
              </td>
            </tr>`,
        )}
      </tbody>
    </table>`;
}

export function slowView(answers: readonly SlowAnswer[]): Html {
  if (answers.length === 0)
    return html`<p class="none">None since the service started: each answer took less than 250 ms.</p>`;
  return html`<p class="quiet">
      The service waits a second for an answer. Slow ones come from a slow or busy disk, or from another
      program that holds the database’s lock.
    </p>
    <table class="blocks">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col" class="figure">Took</th>
          <th scope="col" class="figure">Answer</th>
          <th scope="col" class="figure">Body</th>
        </tr>
      </thead>
      <tbody>
        ${answers.map(
          ({ atMs, tookMs, status, bytes: size }) =>
            html`<tr>
              <th scope="row">${instant(atMs)}</th>
              <td class="figure strong" data-label="took">${millis(tookMs)}</td>
              <td class="figure" data-label="answer">${status}</td>
              <td class="figure" data-label="body">${bytes(size)}</td>
            </tr>`,
        )}
      </tbody>
    </table>`;
}

export function rejectedView(requests: readonly RejectedRequest[]): Html {
  if (requests.length === 0) return html`<p class="none">None since the service started.</p>`;
  return html`<p class="quiet">
      Samples: the latest of each kind since the service started. Many 401 with a well-formed signature mean
      that SERVICE_WEBHOOK_SECRET is not the app’s; others come from strangers.
    </p>
    <table class="blocks">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col" class="figure">Answer</th>
          <th scope="col">Because</th>
          <th scope="col">From</th>
          <th scope="col" class="figure">Body</th>
        </tr>
      </thead>
      <tbody>
        ${requests.map(
          ({ atMs, status, reason, remoteAddress, bytes: size }) =>
            html`<tr>
              <th scope="row">${instant(atMs)}</th>
              <td class="figure strong" data-label="answer">${status}</td>
              <td data-label="because">${rejectionWords(reason)}</td>
              <td data-label="from">${remoteAddress ?? 'unknown'}</td>
              <td class="figure" data-label="body">${bytes(size)}</td>
            </tr>`,
        )}
      </tbody>
    </table>`;
}
