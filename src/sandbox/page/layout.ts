import { html, raw } from 'hono/html';
import { cataloguePage } from './catalogue-page.ts';
import type { PageDeps } from './deps.ts';
import type { Html } from './html.ts';
import { ordersView } from './orders-view.ts';
import { settingsView } from './settings-view.ts';
import { stockView } from './stock-view.ts';
import { addressOf } from './view.ts';
import type { Refused, View } from './view.ts';
import { webhooksView } from './webhooks-view.ts';

export type PageContent = {
  readonly view: View;
  readonly baseUrl: string;
  /** What has been done. */
  readonly notice: Html | undefined;
  readonly problem: { readonly words: string; readonly advice: string } | undefined;
  readonly refused: Refused | undefined;
};

/** The whole page. */
export function layout(deps: PageDeps, content: PageContent): Html {
  const { view, baseUrl, notice, problem } = content;
  return html`${raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Simulated service</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/page/style.css" />
        <script type="module" src="/page/script.js"></script>
      </head>
      <body data-refresh="${addressOf('/', view)}">
        <a class="skip" href="#stock">Skip to the stock</a>
        <header class="top">
          <h1>Simulated service</h1>
          <code>${baseUrl}</code>
          <nav aria-label="Parts of the page">
            <a href="#stock">Stock</a> <a href="#orders">Orders</a> <a href="#webhooks">Webhooks</a>
            <a href="#settings">Settings</a> <a href="#faults">Faults</a>
          </nav>
          <noscript><a href="${addressOf('/', view)}">Reload to see what is new</a></noscript>
        </header>
        <div id="message" aria-live="polite">
          ${
            problem === undefined
              ? ''
              : html`<div class="problem" role="alert">
                  <b>Not done.</b> ${problem.words} <span>${problem.advice}</span>
                </div>`
          }
          ${notice === undefined ? '' : html`<div class="notice">${notice}</div>`}
        </div>
        <main>
          ${stockView({ catalogue: cataloguePage(deps.truth, view), ...content })}
          <div class="side">${ordersView(deps, content)} ${webhooksView(deps)}</div>
          ${settingsView(deps, content)}
        </main>
      </body>
    </html>`;
}
