import { onTestFinished } from 'vitest';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { Timers } from '../../src/sandbox/world/clock.ts';
import type { Kind, Variant } from '../../src/sandbox/world/model.ts';
import { present } from '../shared/present.ts';
import { startReceiver, type Receiver } from './receiver.ts';

export type Json = Record<string, unknown>;
export type Reply = { status: number; headers: Headers; body: Json };

export async function sandboxFor(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ products: 12, ...options });
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

export async function withReceiver(
  options: SandboxOptions = {},
): Promise<{ sandbox: Sandbox; receiver: Receiver }> {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const sandbox = await sandboxFor({ webhookUrl: receiver.url, ...options });
  return { sandbox, receiver };
}

export async function reply(response: Response): Promise<Reply> {
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
}

/** `POST /sandbox/…` */
export async function steer(sandbox: Sandbox, path: string, body: unknown): Promise<Reply> {
  return reply(
    await fetch(`${sandbox.baseUrl}/sandbox${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  );
}

/** Samples the next read (of the product, if given) and answers it on release. */
export function holdNext({ reads }: Pick<Sandbox, 'reads'>, productId?: string) {
  const sampled = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let isWaiting = true;
  reads.intercept = async (_, body, respond) => {
    if (!isWaiting || (productId !== undefined && body['product_id'] !== productId)) return undefined;
    isWaiting = false;
    const answer = respond();
    sampled.resolve();
    await released.promise;
    return answer;
  };
  const release = () => {
    isWaiting = false;
    released.resolve();
  };
  return { sampled: sampled.promise, release };
}

/** The first live variant of the kind, with at least `levels` warehouses. */
export function variantOf(sandbox: Sandbox, kind: Kind, levels = kind === 'bundle' ? 0 : 1): Variant {
  const found = sandbox.truth.variants.find(
    (variant) => variant.kind === kind && variant.levels.length >= levels && !variant.deleted,
  );
  if (found === undefined) throw new Error(`the catalogue has no ${kind} variant with ${levels} warehouses`);
  return found;
}

export function levelOf(variant: Variant): { variantId: string; warehouseId: string } {
  return { variantId: variant.id, warehouseId: present(variant.levels[0]).warehouseId };
}

type ManualTime = { now: () => number; timers: Timers; advance(ms: number): void; waiting(): number };

/** A clock and timers that only `advance` moves. */
export function manualTime(startMs = Date.UTC(2026, 0, 1)): ManualTime {
  let nowMs = startMs;
  const waiting = new Set<{ atMs: number; callback: () => void }>();
  return {
    now: () => nowMs,
    waiting: () => waiting.size,
    timers: {
      setTimeout: (callback, ms) => {
        const entry = { atMs: nowMs + ms, callback };
        waiting.add(entry);
        return entry;
      },
      clearTimeout: (handle) => {
        waiting.delete(handle as { atMs: number; callback: () => void });
      },
    },
    advance: (ms) => {
      const untilMs = nowMs + ms;
      for (;;) {
        const [next] = [...waiting].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs);
        if (next === undefined) break;
        waiting.delete(next);
        nowMs = next.atMs;
        next.callback();
      }
      nowMs = untilMs;
    },
  };
}

export const recipient = {
  name: 'สมชาย ใจดี',
  telephone: '0812345678',
  address1: '1/2 ซอยสุขใจ',
  sub_district: 'บางรัก',
  district: 'บางรัก',
  province: 'กรุงเทพมหานคร',
  postal_code: 10500,
};

/** A variant with ten in its one warehouse. */
export function lamp(sandbox: Sandbox, fields: { sku?: string | null; allowNegativeStock?: boolean } = {}) {
  const stock = [{ warehouseId: present(sandbox.truth.warehouseIds[0]), qty: 10 }];
  return present(
    sandbox.operations.createProduct({
      name: 'Lamp',
      variants: [{ allowNegativeStock: false, ...fields, stock }],
    }).product.variants[0],
  );
}
