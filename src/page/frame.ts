/** The document that a page stands in: style and script come from the same server, and nothing else is loaded. */
import { html, raw } from 'hono/html';
import type { Html } from './html.ts';

export interface Frame {
  readonly title: string;
  /** Called by its name where a script says that it does not answer: `The service`. */
  readonly server: string;
  /** How often scripts ask for the page anew. */
  readonly everyMs: number;
  /** What they ask for; null: the address that the browser shows. */
  readonly refresh: string | null;
  /** Without scripts it is loaded again after this while; null: when the reader says so. */
  readonly reloadAfterS: number | null;
  /** Where the keyboard gets past the header. */
  readonly skip: { readonly to: string; readonly words: string };
  readonly body: Html;
}

export function frame({ title, server, everyMs, refresh, reloadAfterS, skip, body }: Frame): Html {
  return html`${raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/page/style.css" />
        <script type="module" src="/page/script.js"></script>
        ${
          reloadAfterS === null
            ? ''
            : html`<noscript><meta http-equiv="refresh" content="${reloadAfterS}" /></noscript>`
        }
      </head>
      <body data-server="${server}" data-every="${everyMs}" data-refresh="${refresh ?? ''}">
        <a class="skip" href="#${skip.to}">${skip.words}</a>
        ${body}
      </body>
    </html>`;
}
