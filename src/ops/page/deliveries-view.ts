import { html, raw } from 'hono/html';
import type { Html } from '../../web/html.ts';

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
