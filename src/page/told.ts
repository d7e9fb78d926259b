/** What a form has done, or why it did not. Scripts put it in place of the last one. */
import { html } from 'hono/html';
import type { Html } from './html.ts';

export interface Problem {
  /** What was wrong, as sentences. */
  readonly words: string;
  /** What to do about it. */
  readonly advice: string;
}

export function toldView(notice: Html | null, problem: Problem | null): Html {
  return html`<div id="message" aria-live="polite">
    ${
      problem === null
        ? ''
        : html`<div class="problem" role="alert">
            <b>Not done.</b> ${problem.words} <span>${problem.advice}</span>
          </div>`
    }
    ${notice === null ? '' : html`<div class="notice">${notice}</div>`}
  </div>`;
}
