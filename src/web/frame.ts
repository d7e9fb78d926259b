/** The HTML document around a page: style and script come from the same server, and nothing else is loaded. */
import { html, raw } from 'hono/html';
import { STYLES } from './files.ts';
import type { Html } from './html.ts';

interface Frame {
  /** Of the document. */
  readonly title: string;
  readonly brand: string;
  /** The subject of the script's sentence when no answer comes: `The mirror`. */
  readonly server: string;
  /** Interval at which the script loads the page again; null: the page has no script. */
  readonly everyMs: number | null;
  readonly links: readonly (readonly [path: string, words: string])[];
  /** Path of the current link. */
  readonly at: string;
  /** Beside the links. */
  readonly tools: Html | '';
  readonly message: Html | '';
  readonly main: Html;
}

export function frame({ title, brand, server, everyMs, links, at, tools, message, main }: Frame): Html {
  return html`${raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        ${STYLES.map((name) => html`<link rel="stylesheet" href="/page/${name}" />`)}
        ${everyMs === null ? '' : html`<script type="module" src="/page/script.js"></script>`}
      </head>
      <body data-server="${server}" data-every="${everyMs ?? ''}">
        <a class="skip" href="#main">Skip to the content</a>
        <header class="container">
          <nav aria-label="Pages">
            <a class="brand" href="/">${brand}</a>
            ${links.map(
              ([path, words]) =>
                html`<a href="${path}" ${path === at ? raw('aria-current="page"') : ''}>${words}</a>`,
            )}
          </nav>
          ${tools}
        </header>
        <div id="message" class="container" role="status">${message}</div>
        <main id="main" class="container" tabindex="-1">${main}</main>
        ${
          everyMs === null
            ? ''
            : html`<footer class="container quiet">Times are in <span data-time-zone>UTC</span>.</footer>`
        }
      </body>
    </html>`;
}
