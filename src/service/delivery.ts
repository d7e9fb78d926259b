/**
 * Reads a webhook body ("Events"). An authentic body is never refused: what cannot be understood is named, item by
 * item, and never takes its neighbours with it.
 */
import type { StockChange, Unreadable } from '../core/entry.ts';
import { idSchema, stockItemSchema, STOCK_AVAILABLE_UPDATED, webhookEnvelopeSchema } from './schemas.ts';

export interface ParsedDelivery {
  readonly requestId: string | null;
  readonly changes: readonly StockChange[];
  readonly unreadable: readonly Unreadable[];
}

/** Before this an update time cannot be in milliseconds: seconds are the common slip ("Conventions" 2). */
const EARLIEST_PLAUSIBLE_MS = 1_000_000_000_000;

const decoder = new TextDecoder();

export function parseDelivery(body: Uint8Array): ParsedDelivery {
  let json: unknown;
  try {
    json = JSON.parse(decoder.decode(body));
  } catch {
    return whole(null, 'the body is not JSON');
  }
  const requestId = textField(json, 'request_id');
  const envelope = webhookEnvelopeSchema.safeParse(json);
  // An envelope with a flaw may still hold readable items.
  const data = envelope.success ? envelope.data.data : field(json, 'data');
  const eventType = textField(json, 'event_type');
  if (eventType !== null && eventType !== STOCK_AVAILABLE_UPDATED) {
    return whole(requestId, `unknown event type ${JSON.stringify(eventType.slice(0, 100))}`);
  }
  const items = field(data, 'items');
  if (!Array.isArray(items)) return whole(requestId, 'data.items is not an array');
  const parsed = parseItems(items);
  if (eventType !== null) return { requestId, ...parsed };
  // Without its type the event is not understood as a whole, whatever its items look like.
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
  for (const [itemIndex, item] of items.entries()) {
    const parsed = stockItemSchema.safeParse(item);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const problem = `data.items[${itemIndex}].${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not understood'}`;
      unreadable.push({ itemIndex, problem, variantId: variantIdOf(item) });
      continue;
    }
    const { id, sku, warehouse_id, update_time, reason, order_id, user_id } = parsed.data;
    if (update_time < EARLIEST_PLAUSIBLE_MS) {
      const problem = `data.items[${itemIndex}].update_time is not in milliseconds`;
      unreadable.push({ itemIndex, problem, variantId: id });
      continue;
    }
    changes.push({
      variantId: id,
      warehouseId: warehouse_id,
      sku: sku === undefined || sku === null || sku === '' ? null : sku,
      old: parsed.data.old,
      new: parsed.data.new,
      updateTimeMs: update_time,
      reason: reason ?? null,
      orderId: order_id ?? null,
      userId: user_id ?? null,
    });
  }
  return { changes, unreadable };
}

/** Ids are strings, but a number still tells whom to read, as long as it has kept all its digits. */
function variantIdOf(item: unknown): string | null {
  const id = field(item, 'id');
  if (typeof id === 'number') return Number.isSafeInteger(id) && id >= 0 ? String(id) : null;
  return idSchema.safeParse(id).success ? (id as string) : null;
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

function textField(value: unknown, name: string): string | null {
  const text = field(value, name);
  return typeof text === 'string' ? text : null;
}
