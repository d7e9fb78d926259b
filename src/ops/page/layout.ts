import { html, raw } from 'hono/html';
import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';
import { toldView, type Problem } from '../../web/told.ts';
import { causeLine } from '../condition/cause.ts';
import { stoppedCause } from '../condition/own-trouble.ts';
import { CONDITION_TITLES, type ConditionName } from '../condition/condition.ts';

export interface Told {
  readonly notice: Html | null;
  readonly problem: Problem | null;
}

export interface Page {
  readonly title: string;
  /** Path of its entry in the navigation. */
  readonly at: string;
  readonly state: ConditionName | null;
  readonly told: Told;
  /** Whether the reader has a session to sign out of. */
  readonly canSignOut: boolean;
  /** How often scripts reload it. */
  readonly everyMs?: number;
  /** Without scripts, the page reloads after this time. */
  readonly reloadAfterS?: number;
  readonly main: Html;
}

const ENTRIES = [
  ['/', 'Overview'],
  ['/stock', 'Stock'],
  ['/deliveries', 'Deliveries'],
  ['/runs', 'Runs'],
] as const;

/** What scripts say when the mirror does not answer, in the words of `status` and of the log output. */
const STOPPED = causeLine(stoppedCause(null));

const DEFAULT_EVERY_MS = 2_000;

export function layout({ title, at, state, told, canSignOut, everyMs, reloadAfterS, main }: Page): Html {
  return frame({
    title: `${title}: stock-mirror`,
    server: 'The mirror',
    silent: STOPPED,
    everyMs: everyMs ?? DEFAULT_EVERY_MS,
    refresh: null,
    reloadAfterS: reloadAfterS ?? null,
    skip: { to: 'main', words: 'Skip to the content' },
    body: html`<header class="top">
        <a class="home" href="/">stock-mirror</a>
        <span id="top-state" aria-live="polite" data-live>
          ${
            state === null
              ? ''
              : html`<span class="hidden">The mirror is: </span
                  ><span class="state ${state}">${CONDITION_TITLES[state]}</span>`
          }
        </span>
        <nav aria-label="Pages">
          ${ENTRIES.map(
            ([path, name]) =>
              html`<a href="${path}" ${path === at ? raw('aria-current="page"') : ''}>${name}</a>`,
          )}
        </nav>
        ${searchBox()}
        ${
          canSignOut
            ? html`<form method="post" action="/logout" data-leave>
                <button class="light">Sign out</button>
              </form>`
            : ''
        }
      </header>
      ${toldView(told.notice, told.problem)}
      <main id="main" tabindex="-1">
        <h1>${title}</h1>
        ${main}
      </main>
      <footer class="quiet">Times are in <span data-time-zone>UTC</span>.</footer>`,
  });
}

function searchBox(): Html {
  return html`<form class="find" role="search" action="/search" aria-label="Everywhere">
    <label>
      <span class="hidden">SKU, or the id of a variant, product, request or order</span>
      <input
        id="find"
        type="search"
        name="q"
        placeholder="SKU, id, order …"
        autocomplete="off"
        spellcheck="false"
        maxlength="200"
      />
    </label>
  </form>`;
}
