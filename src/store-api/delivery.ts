/** Parses a webhook body ("Events"): names items that are not understood, and reads the others. */
import type { StockChange, Unreadable } from '../core/input.ts';
import { describeIssues } from './contract/issues.ts';
import { stockItemSchema, STOCK_AVAILABLE_UPDATED } from './contract/schemas.ts';
import { variantIdOf } from './variant-ids.ts';

export interface ParsedDelivery {
  readonly requestId: string | null;
  readonly changes: readonly StockChange[];
  readonly unreadable: readonly Unreadable[];
}

/** An earlier update time is probably in seconds ("Conventions" 2). */
const EARLIEST_PLAUSIBLE_MS = 1_000_000_000_000;
/** Further broken items share one mark, since each mark costs a row and a search. */
const MAX_MARKS = 1_000;
/** Every row of the delivery repeats the id in the feed, so a large one would multiply. */
const MAX_REQUEST_ID = 200;

const decoder = new TextDecoder();

export function parseDelivery(body: Uint8Array): ParsedDelivery {
  let json: unknown;
  try {
    json = JSON.parse(decoder.decode(body));
  } catch {
    return whole(null, 'the body is not JSON');
  }
  const requestId = textField(json, 'request_id')?.slice(0, MAX_REQUEST_ID).toWellFormed() ?? null;
  const eventType = textField(json, 'event_type');
  if (eventType !== null && eventType !== STOCK_AVAILABLE_UPDATED) {
    const problem = `unknown event type ${JSON.stringify(eventType.slice(0, 100))}`;
    return { requestId, changes: [], unreadable: [{ ...WHOLE, problem, unknownEvent: true }] };
  }
  // A faulty envelope may still have readable items.
  const items = field(field(json, 'data'), 'items');
  if (!Array.isArray(items)) return whole(requestId, 'data.items is not an array');
  const parsed = parseItems(items);
  if (eventType !== null) return { requestId, ...parsed };
  const problem = 'event_type is missing';
  return { requestId, ...parsed, unreadable: [...parsed.unreadable, { ...WHOLE, problem }] };
}

const WHOLE = { itemIndex: null, variantId: null } as const;

function whole(requestId: string | null, problem: string): ParsedDelivery {
  return { requestId, changes: [], unreadable: [{ ...WHOLE, problem }] };
}

function parseItems(items: readonly unknown[]): Pick<ParsedDelivery, 'changes' | 'unreadable'> {
  const changes: StockChange[] = [];
  const unreadable: Unreadable[] = [];
  let uncounted = 0;
  for (const [itemIndex, item] of items.entries()) {
    const isFull = unreadable.length >= MAX_MARKS;
    const variantId = variantIdOf(item);
    const read = isFull && variantId === null ? '' : readItem(item, itemIndex);
    if (typeof read === 'object') changes.push(read);
    else if (isFull) uncounted += 1;
    else unreadable.push({ itemIndex, problem: read, variantId });
  }
  if (uncounted > 0)
    unreadable.push({ ...WHOLE, problem: `data.items: ${uncounted} more items were not understood` });
  return { changes, unreadable };
}

function readItem(item: unknown, itemIndex: number): StockChange | string {
  const parsed = stockItemSchema.safeParse(item);
  if (!parsed.success) return describeIssues(parsed.error, { within: ['data', 'items', itemIndex] });
  const { id, sku, warehouse_id, update_time, reason, order_id, user_id } = parsed.data;
  if (update_time < EARLIEST_PLAUSIBLE_MS) return `data.items[${itemIndex}].update_time: not in milliseconds`;
  return {
    variantId: id,
    warehouseId: warehouse_id,
    sku: sku === undefined || sku === null || sku === '' ? null : sku.toWellFormed(),
    // JSON allows `-0`.
    old: parsed.data.old + 0,
    new: parsed.data.new + 0,
    updateTimeMs: update_time,
    reason: reason?.toWellFormed() ?? null,
    orderId: order_id?.toWellFormed() ?? null,
    userId: user_id?.toWellFormed() ?? null,
  };
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}

function textField(value: unknown, name: string): string | null {
  const text = field(value, name);
  // The database would return a lone surrogate as another text.
  return typeof text === 'string' ? text.toWellFormed() : null;
}
