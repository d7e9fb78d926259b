/** Held removals, which need a decision, and products whose reads fail. */
import { html } from 'hono/html';
import type { heldRemovals, OpenReadKind, openReads } from '../../mirror/queries/open-reads.ts';
import type { Status } from '../../mirror/queries/status.ts';
import type { Html } from '../../web/html.ts';
import { ago, count, instant, marked, numeric, pager, quantity, rereadForm, table } from './parts.ts';

type OpenReadPage = ReturnType<typeof openReads>;
type OpenRead = OpenReadPage['reads'][number];
type HeldRemovals = ReturnType<typeof heldRemovals>;

export const OPEN_READS_SHOWN = 50;
const DECISION_FORM = 'removals';

interface Shown {
  readonly nowMs: number;
  /** null on the first page. */
  readonly after: string | null;
}

type Counts = Pick<Status, 'held_removals' | 'failing_reads' | 'dead_letters'>;

const LISTS = [
  ['/problems/held', 'Held removals', 'held_removals'],
  ['/problems/failing', 'Failing reads', 'failing_reads'],
  ['/deliveries?show=dead-letters', 'Deliveries not understood', 'dead_letters'],
  ['/problems/differences', 'Corrected differences', null],
] as const;

/** @param at the path of the list that is shown. */
export function problemsNav(at: string, counts: Counts): Html {
  return html`<nav class="lists" aria-label="Problems">
    ${LISTS.map(([path, words, of]) => {
      const link =
        path === at
          ? html`<a href="${path}" aria-current="page">${words}</a>`
          : html`<a href="${path}">${words}</a>`;
      return html`<span>${link} ${of === null ? '' : html`<b>${quantity(counts[of])}</b>`}</span>`;
    })}
  </nav>`;
}

interface Decision {
  /** Whether the token must be typed again. */
  readonly asksToken: boolean;
  /** Why the last decision was refused; empty if it was not. */
  readonly problem: string;
}

export function heldView(page: OpenReadPage, held: HeldRemovals, decision: Decision, shown: Shown): Html {
  const { reads } = page;
  const heading = html`<header><h1>Held removals</h1></header>`;
  if (reads.length === 0) {
    return html`<article>
      ${heading}
      <p class="quiet">${noneOf('No removal is held.', shown)}</p>
      ${pagerOf('held', page, shown)}
    </article>`;
  }
  return html`<article>
      ${heading}
      <p>
        The store no longer shows these products, or a part of them. ${count(held.units, 'unit')} would
        disappear, so the mirror keeps them until you decide.
      </p>
    </article>
    ${decisionView(reads, held, decision)}
    <article>
      ${table(
        [
          'Product',
          'Missing in the store',
          'SKUs',
          numeric('Quantities'),
          numeric('Units'),
          'Since',
          'Stock',
        ],
        reads.map((read) => ({
          id: `held-${read.productId}`,
          cells: [
            html`<label
              ><input type="checkbox" name="product_id" value="${read.productId}" form="${DECISION_FORM}" />
              ${nameView(read)}</label
            >`,
            missingWords(read),
            html`${read.skus.join(', ')}`,
            quantity(read.quantities),
            quantity(read.units),
            ago(read.sinceMs, shown.nowMs),
            html`<a href="/stock?q=${read.productId}">its quantities</a>`,
          ],
        })),
        '',
      )}
      ${pagerOf('held', page, shown)}
    </article>`;
}

function decisionView(
  reads: readonly OpenRead[],
  held: HeldRemovals,
  { asksToken, problem }: Decision,
): Html {
  const { products, quantities, units } = held;
  return html`<div class="choices">
    <article aria-labelledby="keep-title" class="good">
      <header><h2 id="keep-title">They should be there</h2></header>
      <p>
        Correct the store: its filter, its permissions or its data. Then read these products again. Those that
        the store shows again are no longer held.
      </p>
      ${rereadAll(reads)}
    </article>
    <article aria-labelledby="remove-title" class="critical">
      <header><h2 id="remove-title">They were deleted on purpose</h2></header>
      <p>
        Reads them again, and removes from the mirror what the store still does not show of them: of the
        ticked products, or of all that are held, also on other pages of this list:
        ${count(quantities, 'quantity', 'quantities')} of ${count(products, 'product')},
        ${count(units, 'unit')} in all.
      </p>
      <form method="post" action="/problems/removals" class="row" id="${DECISION_FORM}">
        <label class="row">Your name <input name="by" maxlength="100" required /></label>
        <label class="row">Reason <input name="reason" maxlength="500" required /></label>
        ${
          asksToken
            ? html`<label class="row"
                >OPS_TOKEN <input name="token" type="password" autocomplete="current-password" required
              /></label>`
            : ''
        }
        <button class="danger" name="which" value="ticked">Remove the ticked products</button>
        <button class="danger" name="which" value="all">Remove all from the mirror</button>
      </form>
      ${problem === '' ? '' : html`<p class="problem" role="alert">${problem}</p>`}
    </article>
  </div>`;
}

export function failingView(page: OpenReadPage, shown: Shown): Html {
  const { reads } = page;
  return html`<article>
    <header>
      <h1>Failing reads</h1>
      ${reads.length === 0 ? '' : rereadAll(reads)}
    </header>
    ${
      reads.length === 0
        ? ''
        : html`<p>The last read of these products failed. Webhooks still change their quantities.</p>`
    }
    ${table(
      ['Product', 'Failed', 'Error', numeric('Attempts'), 'Next attempt', 'Retry'],
      reads.map((read) => ({
        id: `failing-${read.productId}`,
        cells: [
          nameView(read),
          ago(read.failedAtMs, shown.nowMs),
          html`${marked(read.lastError ?? 'no error was recorded')}`,
          quantity(read.attempts),
          retryWords(read, shown.nowMs),
          html`<form method="post" action="/page/resync">
            <input type="hidden" name="product_id" value="${read.productId}" />
            <button class="secondary" aria-label="Read product ${read.productId} now">Read now</button>
          </form>`,
        ],
      })),
      noneOf('No read fails.', shown),
    )}
    ${pagerOf('failing', page, shown)}
  </article>`;
}

function rereadAll(reads: readonly OpenRead[]): Html {
  const ids = reads.map(({ productId }) => productId);
  return rereadForm(ids, `Read ${count(reads.length, 'product')} again`);
}

function nameView({ productId, name }: OpenRead): Html {
  return html`${name ?? 'Never read'} <span class="quiet">product ${productId}</span>`;
}

function missingWords({ missing: { product, variants, levels } }: OpenRead): string {
  if (product) return 'the product';
  const parts = [
    variants === 0 ? '' : count(variants, 'variant'),
    levels === 0 ? '' : count(levels, 'stock level'),
  ].filter((words) => words !== '');
  return parts.length === 0 ? 'shown again: its next read ends this' : parts.join(', ');
}

function retryWords({ retryAtMs }: OpenRead, nowMs: number): Html {
  if (retryAtMs === null) return html`with the next schedule or resync`;
  return retryAtMs <= nowMs ? html`due now` : instant(retryAtMs);
}

function noneOf(none: string, { after }: Shown): string {
  return after === null ? none : 'There are no more.';
}

function pagerOf(kind: OpenReadKind, { next }: OpenReadPage, { after }: Shown): Html | '' {
  const here = `/problems/${kind}`;
  return pager({
    first: after === null ? null : here,
    next: next === null ? null : `${here}?after=${next}`,
  });
}
