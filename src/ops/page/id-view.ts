/** Ids: never broken by a line's end, long ones shortened in the middle, and copied whole by a click. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';

/** Longer ones are shortened; ids of the store's own are mostly shorter. */
const WHOLE = 14;
const HEAD = 8;
const TAIL = 4;

function shortId(id: string): string {
  return id.length <= WHOLE ? id : `${id.slice(0, HEAD)}…${id.slice(-TAIL)}`;
}

/** For an id that leads nowhere: a click copies it. */
export function idView(id: string): Html {
  return html`<code class="id" role="button" tabindex="0" data-id="${id}" title="${id}: click to copy"
    >${shortId(id)}</code
  >`;
}

/** For an id with a page of its own. */
export function idText(id: string): Html {
  return html`<span class="id" title="${id}">${shortId(id)}</span>`;
}
