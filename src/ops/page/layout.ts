import { html, raw } from 'hono/html';
import type { Status } from '../../store/queries/status.ts';
import type { Html } from './html.ts';
import { STATE_NAMES } from './state-words.ts';

export interface Told {
  readonly notice: Html | null;
  readonly problem: { readonly words: string; readonly advice: string } | null;
}

export interface Page {
  readonly title: string;
  /** Path of the entry in the navigation that it belongs to. */
  readonly at: string;
  readonly state: Status['state'] | null;
  readonly told: Told;
  /** Whether who looks has signed in, and may sign out. */
  readonly canSignOut: boolean;
  /** How often scripts ask for it anew. */
  readonly everyMs?: number;
  /** Without scripts it is loaded again after this while: what it shows moves. */
  readonly reloadAfterS?: number;
  readonly main: Html;
}

const ENTRIES = [
  ['/', 'Overview'],
  ['/stock', 'Stock'],
  ['/drift', 'Drift'],
  ['/deliveries', 'Deliveries'],
  ['/runs', 'Runs'],
] as const;

const DEFAULT_EVERY_MS = 2_000;

export function layout({ title, at, state, told, canSignOut, everyMs, reloadAfterS, main }: Page): Html {
  const { notice, problem } = told;
  return html`${raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}: stock-mirror</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/page/style.css" />
        <script type="module" src="/page/script.js"></script>
        ${
          reloadAfterS === undefined
            ? ''
            : html`<noscript><meta http-equiv="refresh" content="${reloadAfterS}" /></noscript>`
        }
      </head>
      <body data-every="${everyMs ?? DEFAULT_EVERY_MS}">
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="home" href="/">stock-mirror</a>
          <span id="top-state" data-live>
            ${state === null ? '' : html`<span class="state ${state}">${STATE_NAMES[state]}</span>`}
          </span>
          <nav aria-label="Pages">
            ${ENTRIES.map(
              ([path, name]) =>
                html`<a href="${path}" ${path === at ? raw('aria-current="page"') : ''}>${name}</a>`,
            )}
          </nav>
          ${
            canSignOut
              ? html`<form method="post" action="/logout" data-leave>
                  <button class="light">Sign out</button>
                </form>`
              : ''
          }
        </header>
        <div id="message" aria-live="polite">
          ${
            problem === null
              ? ''
              : html`<div class="problem" role="alert">
                  <b>Not done.</b> ${problem.words} <span>${problem.advice}</span>
                </div>`
          }
          ${notice === null ? '' : html`<div class="notice">${notice}</div>`}
        </div>
        <main id="main">
          <h1>${title}</h1>
          ${main}
        </main>
      </body>
    </html>`;
}
