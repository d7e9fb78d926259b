/** The result of a form, or why it was refused. Scripts replace the previous one. */
import { html } from 'hono/html';
import type { Html } from './html.ts';

export interface Problem {
  /** What was wrong, in sentences. */
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
