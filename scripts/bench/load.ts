/** Signed deliveries, made before the clock starts, sent over keep-alive connections. */
import { performance } from 'node:perf_hooks';
import { Pool } from 'undici';
import { signBody } from '../../src/service/signature.ts';

export interface Delivery {
  readonly body: Buffer;
  readonly signature: string;
}

/** Unique deliveries of one to three changes each, over `cells` variants, with unbroken chains. */
export function makeDeliveries(count: number, cells: number, secret: string, label: string): Delivery[] {
  const qty = new Map<number, number>();
  const startMs = Date.now() - count;
  return Array.from({ length: count }, (_, i) => {
    const items = Array.from({ length: 1 + (i % 3) }, (_, k) => {
      const cell = (i * 7 + k * 13) % cells;
      const old = qty.get(cell) ?? 0;
      qty.set(cell, old + 1);
      return {
        id: String(1_000_000 + cell),
        sku: `SKU-${cell}`,
        old,
        new: old + 1,
        warehouse_id: '7',
        update_time: startMs + i,
        reason: 'order_reserved',
        order_id: String(i),
      };
    });
    const body = Buffer.from(
      JSON.stringify({
        request_id: `${label}-${i}`,
        event_type: 'stock_available_updated',
        request_time: startMs + i,
        data: { items },
      }),
    );
    return { body, signature: signBody(secret, body) };
  });
}

export interface Outcome {
  readonly perSecond: number;
  /** Answer times, ms, ascending. */
  readonly answerMs: readonly number[];
}

/** Sends all, at most `connections` at a time. @throws Error when one is not answered 204. */
export async function sendAll(
  url: string,
  deliveries: readonly Delivery[],
  connections: number,
): Promise<Outcome> {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const answerMs: number[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let delivery = deliveries[next++]; delivery !== undefined; delivery = deliveries[next++]) {
      const sentMs = performance.now();
      const response = await pool.request({
        path: pathname,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-service-signature': delivery.signature },
        body: delivery.body,
      });
      await response.body.dump();
      if (response.statusCode !== 204) throw new Error(`answered ${response.statusCode} instead of 204`);
      answerMs.push(performance.now() - sentMs);
    }
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: connections }, work));
  const perSecond = deliveries.length / ((performance.now() - startedMs) / 1_000);
  await pool.close();
  return { perSecond, answerMs: answerMs.sort((a, b) => a - b) };
}
