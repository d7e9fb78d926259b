import { html, raw } from 'hono/html';
import { STYLES } from './files.ts';
import type { Html } from './html.ts';

interface Frame {
  readonly title: string;
  /** Subject of the script's error messages. */
  readonly server?: string;
  /** Interval of the script's reloads; null for no script. */
  readonly everyMs: number | null;
  readonly links?: readonly (readonly [path: string, words: string])[];
  /** The link that leads here. */
  readonly at?: string;
  readonly tools?: Html | '';
  readonly message?: Html | '';
  readonly main: Html;
}

export function frame({
  title,
  server = 'The mirror',
  everyMs,
  links = [],
  at = '',
  tools = '',
  message = '',
  main,
}: Frame): Html {
  return html`${raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}: stock-mirror</title>
        <link rel="icon" href="data:," />
        ${STYLES.map((name) => html`<link rel="stylesheet" href="/page/${name}" />`)}
        ${everyMs === null ? '' : html`<script type="module" src="/page/script.js"></script>`}
      </head>
      <body data-server="${server}" data-every="${everyMs ?? ''}">
        <a class="skip" href="#main">Skip to the content</a>
        <header class="container">
          <nav aria-label="Pages">
            <a class="brand" href="/">stock-mirror</a>
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
