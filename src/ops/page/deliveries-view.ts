import { html, raw } from 'hono/html';
import type { DeadLetter } from '../../mirror/queries/page/dead-letters.ts';
import { instant } from './figures.ts';
import { idText } from './id-view.ts';
import type { Html } from '../../web/html.ts';
import { pager } from './pager.ts';

const LISTS = { all: 'All', 'dead-letters': 'Not understood' } as const;

export function deliveriesFrame(list: keyof typeof LISTS, content: Html): Html {
  return html`<section aria-label="Deliveries">
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
      first: isFirst ? null : '/deliveries?show=dead-letters',
      next: hasMore ? `/deliveries?show=dead-letters&before=${oldest.id}` : null,
    })}`;
}
