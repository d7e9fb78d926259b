/** What became of an item of a delivery, in words. */
import { html } from 'hono/html';
import type { Html } from '../../page/html.ts';
import type { Effect, Later, LoggedItem } from '../../store/queries/page-effects.ts';
import { instant, quantity } from './figures.ts';

export function outcomeWords({ old, effect: { outcome } }: LoggedItem, arrivedAtMs: number): Html {
  switch (outcome.kind) {
    case 'applied':
      if (outcome.fromQty === null) return html`<b>applied</b>, the first that was known of it`;
      if (outcome.fromQty === old) return html`<b>applied</b>`;
      return html`<b>applied</b>, though the mirror held ${quantity(outcome.fromQty)}: a delivery was late or
        lost`;
    case 'held':
      return html`<b>no change</b>: the mirror held that figure already, from the same change or from a read`;
    case 'kept':
      return html`<b>not applied</b>: ${laterWords(outcome.later, arrivedAtMs)}; the mirror kept
        ${quantity(outcome.qty)}`;
    case 'gone':
      return html`<b>not applied</b>: the service no longer had it`;
    case 'unknown':
      return outcome.why === 'pruned'
        ? html`<span class="quiet">not known: the record of it is pruned</span>`
        : html`<span class="quiet">not known here: too much has changed since</span>`;
  }
}

function laterWords(later: Later, arrivedAtMs: number): Html {
  switch (later.kind) {
    case 'change':
      return html`older than a change that came before it, of ${instant(later.atMs)}`;
    case 'same_instant':
      return html`another change has the same time, and the order of the two cannot be told`;
    case 'read':
      return html`a read at ${instant(Math.min(later.atMs, arrivedAtMs))} had seen what came after it`;
    case 'not_on_record':
      return html`older than what the mirror knew`;
  }
}

/** Null: it raised none that is known of. */
export function doubtWords({ doubt }: Effect): string | null {
  switch (doubt) {
    case 'no':
      return null;
    case 'open':
      return 'in doubt: to be read';
    case 'settled':
      return 'in doubt, settled since';
  }
}
