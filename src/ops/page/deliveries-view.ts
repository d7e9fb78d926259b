import { html, raw } from 'hono/html';
import type { DeadLetter } from '../../mirror/queries/page/dead-letters.ts';
import type { RejectedRequest } from '../state/rejected.ts';
import type { SlowAnswer } from '../state/timeline.ts';
import { bytes, instant, millis } from './figures.ts';
import { idText } from './id-view.ts';
import type { Html } from '../../web/html.ts';
import { pager } from './pager.ts';
import { rejectionWords } from '../shared/words.ts';

const LISTS = {
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

interface DeadLettersPage {
  readonly items: readonly DeadLetter[];
  readonly hasMore: boolean;
  readonly isFirst: boolean;
}

export function deadLettersView({ items, hasMore, isFirst }: DeadLettersPage): Html {
  const oldest = items.at(-1);
  if (oldest === undefined) {
    return html`<p class="none">
      ${isFirst ? 'None: every authentic delivery was understood.' : 'There are no more.'}
    </p>`;
  }
  return html`<p class="quiet">
      These items were answered 204 and kept, but not applied. The products they name were read from the store
      instead, so figures are correct; the other items of the delivery were applied. Nothing to do; report a
      new kind of problem to the store.
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
            html`<tr id="dead-letter-${id}" data-new>
              <th scope="row">${atMs === null ? 'pruned' : instant(atMs)}</th>
              <td class="whole">${problem}</td>
              <td data-label="variant">
                ${variantId === null ? 'unknown' : html`<a href="/variants/${variantId}">${idText(variantId)}</a>`}
              </td>
              <td class="figure" data-label="log">
                ${atMs === null ? logSeq : html`<a href="/deliveries/${logSeq}">${logSeq}</a>`}
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${pager({
      of: 'of items not understood',
      first: isFirst ? null : '/deliveries?show=quarantined',
      next: hasMore ? `/deliveries?show=quarantined&before=${oldest.id}` : null,
    })}`;
}

export function slowView(answers: readonly SlowAnswer[]): Html {
  if (answers.length === 0)
    return html`<p class="none">None since the mirror started: every answer took less than 250 ms.</p>`;
  return html`<p class="quiet">
      The store waits one second for an answer, then the delivery is lost. Slow answers come from a slow or
      busy disk of this machine, or from another program that locks the database.
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
  if (requests.length === 0) return html`<p class="none">None since the mirror started.</p>`;
  return html`<p class="quiet">
      The latest of each kind since the mirror started. Many 401 with a well-formed signature mean that
      SERVICE_WEBHOOK_SECRET is not the app’s secret; other 401 come from strangers and are harmless.
    </p>
    <table class="blocks">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col" class="figure">Answer</th>
          <th scope="col">Reason</th>
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
              <td data-label="reason">${rejectionWords(reason)}</td>
              <td data-label="from">${remoteAddress ?? 'unknown'}</td>
              <td class="figure" data-label="body">${bytes(size)}</td>
            </tr>`,
        )}
      </tbody>
    </table>`;
}
