import { html, raw } from 'hono/html';
import type { Html } from '../../web/html.ts';
import { MOST_COUNTED } from '../../mirror/file/suspicion.ts';
import { duration } from '../../platform/amounts.ts';
import type { WarehouseNames } from '../shared/words.ts';

/** Interval at which an open page shows itself again. */
export const EVERY_MS = 2_000;

/** `2026-11-21 18:26:05 UTC`; a script converts it to the reader's time zone. */
export function instant(atMs: number): Html {
  const iso = new Date(atMs).toISOString();
  return html`<time datetime="${iso}" data-zone>${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;
}

export function ago(atMs: number | null, nowMs: number): Html {
  if (atMs === null) return html`never`;
  const iso = new Date(atMs).toISOString();
  const ageMs = nowMs - atMs;
  return html`<time datetime="${iso}" title="${iso}" data-ago
    >${ageMs < 1_500 ? 'just now' : `${duration(ageMs)} ago`}</time
  >`;
}

export function millis(ms: number): string {
  return `${ms < 10 ? Math.round(ms * 10) / 10 : quantity(Math.round(ms))} ms`;
}

export function quantity(value: number | null): string {
  return value === null ? '–' : value.toLocaleString('en').replace('-', '−');
}

/** @param rows null: more than are counted. */
export function suspectWords(rows: number | null): string {
  return rows === null ? `more than ${quantity(MOST_COUNTED)}` : quantity(rows);
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${quantity(value)} ${value === 1 ? one : many}`;
}

export function signed(value: number): string {
  return value > 0 ? `+${quantity(value)}` : quantity(value);
}

export function idView(id: string): Html {
  return html`<code class="id" title="${id}">${id}</code>`;
}

/** Longer ids are shown by their last digits. */
const SHORT_ID = 8;
const SHOWN_DIGITS = 4;

export function warehouseView(id: string, names: WarehouseNames): Html {
  const shown = names.get(id) ?? (id.length > SHORT_ID ? `…${id.slice(-SHOWN_DIGITS)}` : id);
  return html`<span title="${id}">${shown}</span>`;
}

export function variantLink({ variantId, sku }: VariantName): Html {
  return html`<a href="/variants/${variantId}">${sku ?? variantId}</a>`;
}

interface VariantName {
  readonly variantId: string;
  readonly sku?: string | null;
}

type Cell = Html | string;

interface Row {
  readonly id: string;
  /** In a table without groups, the first cell is the row's head. */
  readonly cells: readonly Cell[];
}

interface ColumnHeading {
  readonly name: string;
  /** Right-aligned. */
  readonly isNumeric: boolean;
}

type Heading = string | ColumnHeading;

/** The heading of a column of numbers. */
export function numeric(name: string): ColumnHeading {
  return { name, isNumeric: true };
}

interface Column {
  readonly name: string;
  readonly look: Cell;
}

function columnsOf(headings: readonly Heading[]): readonly Column[] {
  return headings.map((heading) => {
    const { name, isNumeric } = typeof heading === 'string' ? { name: heading, isNumeric: false } : heading;
    return { name, look: isNumeric ? raw('class="quantity"') : '' };
  });
}

function headView(columns: readonly Column[]): Html {
  return html`<thead role="rowgroup">
    <tr role="row">
      ${columns.map(({ name, look }) => html`<th scope="col" role="columnheader" ${look}>${name}</th>`)}
    </tr>
  </thead>`;
}

function cellView(cell: Cell, column: Column | undefined): Html {
  return html`<td role="cell" data-label="${column?.name}" ${column?.look}>${cell}</td>`;
}

/**
 * The roles keep it a table for screen readers on a phone, where its rows are no table rows to the style sheet.
 * @param none shown instead of a table without rows.
 */
export function table(columns: readonly Heading[], rows: readonly Row[], none: string): Html {
  if (rows.length === 0) return html`<p class="quiet">${none}</p>`;
  const heads = columnsOf(columns);
  return html`<table role="table">
    ${headView(heads)}
    <tbody role="rowgroup">
      ${rows.map(
        ({ id, cells: [head, ...others] }) =>
          html`<tr id="${id}" role="row">
            <th scope="row" role="rowheader">${head}</th>
            ${others.map((cell, at) => cellView(cell, heads[at + 1]))}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

interface Group {
  readonly head: Cell;
  /** Their cells begin with the next column. */
  readonly rows: readonly Row[];
}

/** A table whose first column is the head of several rows. */
export function groupedTable(columns: readonly Heading[], groups: readonly Group[], none: string): Html {
  if (groups.length === 0) return html`<p class="quiet">${none}</p>`;
  const heads = columnsOf(columns);
  return html`<table class="grouped" role="table">
    ${headView(heads)}
    ${groups.map(
      ({ head, rows }) =>
        html`<tbody role="rowgroup">
          ${rows.map(
            ({ id, cells }, at) =>
              html`<tr id="${id}" role="row">
                ${at === 0 ? html`<th scope="rowgroup" rowspan="${rows.length}" role="rowheader">${head}</th>` : ''}
                ${cells.map((cell, index) => cellView(cell, heads[index + 1]))}
              </tr>`,
          )}
        </tbody>`,
    )}
  </table>`;
}

/** @param look `values`: the values in a larger font. */
export function facts(all: readonly (readonly [name: string, value: Cell])[], look = ''): Html {
  return html`<dl class="${look}">
    ${all.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

interface PagerLinks {
  /** null on the first page. */
  readonly first: string | null;
  /** null on the last page. */
  readonly next: string | null;
}

export function pager({ first, next }: PagerLinks): Html | '' {
  if (first === null && next === null) return '';
  return html`<nav class="row" aria-label="Pages of the list">
    ${first === null ? '' : html`<a href="${first}">⇤ First page</a>`}
    ${next === null ? '' : html`<a href="${next}">Next page →</a>`}
  </nav>`;
}

/** @param productIds empty for the whole catalogue. */
export function rereadForm(productIds: readonly string[], words: string): Html {
  return html`<form method="post" action="/page/resync">
    ${productIds.map((id) => html`<input type="hidden" name="product_id" value="${id}" />`)}
    <button class="secondary">${words}</button>
  </form>`;
}

/** Formats code between backticks. */
export function marked(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}
