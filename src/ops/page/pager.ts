/** The links below a list of several pages. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';

interface Pager {
  /** What is paged: `of the runs`. */
  readonly of: string;
  /** Address of the first page; null on the first page itself. */
  readonly first: string | null;
  readonly firstWords?: string;
  /** Null: this is the last page. */
  readonly next: string | null;
  readonly nextWords?: string;
}

export function pager({ of, first, firstWords = 'Newest', next, nextWords = 'Older' }: Pager): Html {
  if (first === null && next === null) return html``;
  return html`<nav class="row pager" aria-label="Pages ${of}">
    ${first === null ? '' : html`<a href="${first}">← ${firstWords}</a>`}
    ${next === null ? '' : html`<a href="${next}">${nextWords} →</a>`}
  </nav>`;
}
