import { html } from 'hono/html';
import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';
import { toldView, type Problem } from '../../web/told.ts';
import { cataloguePage } from './catalogue-page.ts';
import type { PageDeps } from './deps.ts';
import { latestCallsView } from './calls-view.ts';
import { lossesView } from './losses-view.ts';
import { ordersView } from './orders-view.ts';
import { settingsView } from './settings-view.ts';
import { stockView } from './stock-view.ts';
import { addressOf } from './view.ts';
import type { Refused, View } from './view.ts';
import { webhooksView } from './webhooks-view.ts';

export interface PageContent {
  readonly view: View;
  readonly baseUrl: string;
  /** The result of the last action. */
  readonly notice: Html | undefined;
  readonly problem: Problem | undefined;
  readonly refused: Refused | undefined;
}

const EVERY_MS = 1_000;

/** The whole page. */
export function layout(deps: PageDeps, content: PageContent): Html {
  const { view, baseUrl, notice, problem } = content;
  const address = addressOf('/', view);
  return frame({
    title: 'Simulated store',
    server: 'The sandbox',
    everyMs: EVERY_MS,
    refresh: address,
    reloadAfterS: null,
    skip: { to: 'stock', words: 'Skip to stock' },
    body: html`<header class="top">
        <h1>Simulated store</h1>
        <code>${baseUrl}</code>
        <nav aria-label="Parts of the page">
          <a href="#losses">Losses</a> <a href="#stock">Stock</a> <a href="#orders">Orders</a>
          <a href="#webhooks">Webhooks</a> <a href="#calls">API calls</a> <a href="#settings">Settings</a>
          <a href="#faults">Faults</a>
        </nav>
        <noscript><a href="${address}">Reload to see changes</a></noscript>
      </header>
      ${toldView(notice ?? null, problem ?? null)}
      <main>
        ${stockView({ catalogue: cataloguePage(deps.truth, view), ...content })}
        <div class="side">
          ${lossesView(deps, content)} ${ordersView(deps, content)} ${webhooksView(deps)}
          ${latestCallsView(deps)}
        </div>
        ${settingsView(deps, content)}
      </main>`,
  });
}
