/** The HTML document around a page: style and script come from the same server, and nothing else is loaded. */
import { html, raw } from 'hono/html';
import { IMPORTED_SCRIPTS } from './files.ts';
import type { Html } from './html.ts';

interface Frame {
  readonly title: string;
  /** What scripts call the program when it does not answer: `The mirror`. */
  readonly server: string;
  /** What they say when it does not answer; without it, that it does not. */
  readonly silent?: string;
  /** How often scripts reload the page. */
  readonly everyMs: number;
  /** The address they load; null: the one that the browser shows. */
  readonly refresh: string | null;
  /** Without scripts, the page reloads after this time; null: never. */
  readonly reloadAfterS: number | null;
  /** The link that lets the keyboard skip the header. */
  readonly skip: { readonly to: string; readonly words: string };
  readonly body: Html;
}

export function frame({ title, server, silent, everyMs, refresh, reloadAfterS, skip, body }: Frame): Html {
  return html`${raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/page/style.css" />
        <script type="module" src="/page/script.js"></script>
        ${IMPORTED_SCRIPTS.map((name) => html`<link rel="modulepreload" href="/page/${name}" />`)}
        ${
          reloadAfterS === null
            ? ''
            : html`<noscript><meta http-equiv="refresh" content="${reloadAfterS}" /></noscript>`
        }
      </head>
      <body
        data-server="${server}"
        data-silent="${silent ?? ''}"
        data-every="${everyMs}"
        data-refresh="${refresh ?? ''}"
      >
        <a class="skip" href="#${skip.to}">${skip.words}</a>
        ${body}
      </body>
    </html>`;
}
