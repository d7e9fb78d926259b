/** The effect of a delivery's item, in words. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import type { Effect, Later, LoggedItem } from '../../mirror/queries/page/effects.ts';
import { instant, quantity } from './figures.ts';

export function outcomeWords({ old, effect: { outcome } }: LoggedItem, arrivedAtMs: number): Html {
  switch (outcome.kind) {
    case 'applied':
      if (outcome.fromQty === null) return html`<b>applied</b>: the first figure for this stock level`;
      if (outcome.fromQty === old) return html`<b>applied</b>`;
      return html`<b>applied</b>, although the mirror held ${quantity(outcome.fromQty)}: a delivery was late
        or lost`;
    case 'held':
      return html`<b>no change</b>: the mirror already held this figure, from the same change or from a read`;
    case 'kept':
      return html`<b>not applied</b>: ${laterWords(outcome.later, arrivedAtMs)}; the mirror kept
        ${quantity(outcome.qty)}`;
    case 'gone':
      return html`<b>not applied</b>: the store had already removed it`;
    case 'unknown':
      return outcome.why === 'pruned'
        ? html`<span class="quiet">unknown: the details were pruned</span>`
        : html`<span class="quiet">unknown: too many changes since</span>`;
  }
}

function laterWords(later: Later, arrivedAtMs: number): Html {
  switch (later.kind) {
    case 'change':
      return html`older than a change of ${instant(later.atMs)} that arrived earlier`;
    case 'same_instant':
      return html`another change has the same time, so the order of the two is ambiguous`;
    case 'read':
      return html`a read at ${instant(Math.min(later.atMs, arrivedAtMs))} already included it`;
    case 'not_on_record':
      return html`older than the figure of the mirror`;
  }
}

/** Null: no re-read request is known that it caused. */
export function suspicionWords({ suspicion }: Effect): string | null {
  switch (suspicion) {
    case 'no':
      return null;
    case 'open':
      return 'suspect: read due';
    case 'settled':
      return 'was suspect, since settled';
  }
}

/** What the mirror held before the item and after it. */
export function heldWords({ new: next, effect: { outcome } }: LoggedItem): Html {
  switch (outcome.kind) {
    case 'applied':
      return html`${quantity(outcome.fromQty)} → <b>${quantity(next)}</b>`;
    case 'held':
      return html`${quantity(next)} → ${quantity(next)}`;
    case 'kept':
      return html`${quantity(outcome.qty)} → ${quantity(outcome.qty)}`;
    case 'gone':
      return html`removed`;
    case 'unknown':
      return html`–`;
  }
}

/** Whether the item had its product read again. */
export function readRequestView({ outcome, suspicion }: Effect): Html {
  switch (suspicion) {
    case 'no':
      return html`<span class="quiet">${outcome.kind === 'unknown' ? '' : 'No re-read requested.'}</span>`;
    case 'open':
      return html`<span class="state odd">suspect: re-read requested, due</span>`;
    case 'settled':
      return html`<span class="state">was suspect: re-read requested, since settled</span>`;
  }
}
