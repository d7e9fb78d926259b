/** Instead of a page that is not there, or cannot be shown. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';

export function notFoundView(words: string): Html {
  return html`<section class="stack">
    <p>${words}</p>
    <p>
      <a href="/">Overview</a>, <a href="/stock">stock</a> (search by SKU, name or id),
      <a href="/deliveries">deliveries</a>, <a href="/runs">runs</a>
    </p>
  </section>`;
}

export function failedView(error: Error): Html {
  return html`<section>
    <p>${error.message}</p>
    <p class="advice">
      <b>What to do:</b> read the mirror’s log output, which names the cause, then reload this page.
    </p>
  </section>`;
}
