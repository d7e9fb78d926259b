/** Signed deliveries as the bytes of whole requests, made before the clock starts: sending them costs next to nothing. */
import { signBody } from '../../src/store-api/signature.ts';

/** The subject of the deliveries. The owner of the stock levels keeps the quantities. */
export interface StockLevels {
  readonly count: number;
  name(index: number): {
    readonly variantId: string;
    readonly sku: string | null;
    readonly warehouseId: string;
  };
  qty(index: number): number;
  /** What is true from now on. */
  set(index: number, qty: number): void;
}

export interface PreparedDelivery {
  readonly request: Buffer;
  /** The end of the request: in the same memory. */
  readonly body: Buffer;
  readonly requestId: string;
  /** What its sending makes true. */
  readonly sets: readonly { readonly level: number; readonly qty: number }[];
}

interface Recipe {
  readonly count: number;
  readonly secret: string;
  /** Makes the ids, and so the bodies, unlike those of every other recipe. */
  readonly label: string;
  /** The first one's `update_time`, and how far each is from the one before it. */
  readonly startMs: number;
  readonly everyMs: number;
  /**
   * How many deliveries lie between two that touch the same stock level, at least. As many as may be under way at
   * once: then none overtakes another of its level, as in a store, where a level does not change twice within a few
   * milliseconds. Overtaken ones cost gaps, and reads that settle them. Zero: left to chance.
   */
  readonly apart: number;
}

/** One in five hundred is a large one, as of a stocktake. */
const LARGE_EVERY = 500;
const LARGE_ITEMS = 100;
/** On average; the others have one, two or three. */
export const CHANGES_A_DELIVERY = (2 * (LARGE_EVERY - 1) + LARGE_ITEMS) / LARGE_EVERY;

/**
 * One to three changes each, a few with a hundred, spread evenly over all stock levels, with unbroken chains. The
 * same recipe makes the same deliveries.
 */
export function prepareDeliveries(
  levels: StockLevels,
  recipe: Recipe,
  random: () => number,
): PreparedDelivery[] {
  if (recipe.apart * CHANGES_A_DELIVERY * 2 > levels.count)
    throw new Error(
      `${levels.count} stock levels are too few for ${recipe.apart} deliveries between two of a level`,
    );
  const qty = new Map<number, number>();
  const touchedAt = new Map<number, number>();
  const large = Math.min(LARGE_ITEMS, levels.count);
  return Array.from({ length: recipe.count }, (_, i) => {
    const wanted = i % LARGE_EVERY === LARGE_EVERY - 1 ? large : 1 + (i % 3);
    const chosen = new Set<number>();
    while (chosen.size < Math.min(wanted, levels.count)) {
      const level = Math.floor(random() * levels.count);
      if (i - (touchedAt.get(level) ?? Number.NEGATIVE_INFINITY) <= recipe.apart) continue;
      chosen.add(level);
    }
    for (const level of chosen) touchedAt.set(level, i);
    const updateTimeMs = Math.floor(recipe.startMs + i * recipe.everyMs);
    const sets: { level: number; qty: number }[] = [];
    const items = Array.from(chosen, (level) => {
      const old = qty.get(level) ?? levels.qty(level);
      const next = old > 0 && random() < 0.5 ? old - 1 : old + 1;
      qty.set(level, next);
      sets.push({ level, qty: next });
      const { variantId, sku, warehouseId } = levels.name(level);
      return {
        id: variantId,
        sku,
        old,
        new: next,
        warehouse_id: warehouseId,
        update_time: updateTimeMs,
        reason: 'order_reserved',
        order_id: String(700_000_000 + i),
      };
    });
    const requestId = `${recipe.label}-${i}`;
    const body = JSON.stringify({
      request_id: requestId,
      event_type: 'stock_available_updated',
      request_time: updateTimeMs,
      data: { items },
    });
    return { ...requestOf(body, recipe.secret), requestId, sets };
  });
}

function requestOf(body: string, secret: string): Pick<PreparedDelivery, 'request' | 'body'> {
  const bytes = Buffer.from(body);
  const head =
    'POST /webhooks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n' +
    `User-Agent: service-webhook/1.0\r\nX-Service-Signature: ${signBody(secret, bytes)}\r\n` +
    `Content-Length: ${bytes.byteLength}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), bytes]);
  return { request, body: request.subarray(head.length) };
}
