/** The loss sweep that a proven loss begins (docs/architecture.md#loss-sweeps), as far as it chooses reads. */
import { LOSS_SWEEP_JOINED_MS, LOSS_SWEEP_PRODUCTS, REPLICA_LAG_MS } from '../../src/core/limits.ts';
import type { Policy, ProvenLoss } from './policy.ts';
import type { Setting } from './run.ts';

const RECENT_CHANGES = 5_000;

export class LossSweep {
  readonly #setting: Setting;
  readonly #products: number;
  readonly #requests = new Map<number, number>();
  readonly #recent: number[] = [];
  /** Read longest ago first: each read moves a product to the end. */
  readonly byRead: Map<number, null>;
  #sweptForMs = -Infinity;

  /** @param products that one loss sweep sends to be read at most. */
  constructor(setting: Setting, products = LOSS_SWEEP_PRODUCTS) {
    this.#setting = setting;
    this.#products = products;
    this.byRead = new Map(Array.from({ length: setting.plan.products }, (_, i) => [i, null]));
  }

  changed(product: number): void {
    this.#recent.push(product);
    if (this.#recent.length > 2 * RECENT_CHANGES) this.#recent.splice(0, RECENT_CHANGES);
  }

  wasRead(product: number, sentAtMs: number): void {
    this.byRead.delete(product);
    this.byRead.set(product, null);
    if ((this.#requests.get(product) ?? Infinity) + REPLICA_LAG_MS <= sentAtMs)
      this.#requests.delete(product);
  }

  proved({ openedAtMs, by }: ProvenLoss, nowMs: number): void {
    if (by === 'read' || openedAtMs <= this.#sweptForMs) return;
    const madeAtMs = Math.abs(nowMs - this.#sweptForMs) < LOSS_SWEEP_JOINED_MS ? nowMs : openedAtMs;
    this.#sweptForMs = madeAtMs;
    const found = new Set(this.#recent.slice(-RECENT_CHANGES).reverse());
    for (const product of this.byRead.keys()) {
      if (found.size >= this.#products) break;
      found.add(product);
    }
    const { readAtMs } = this.#setting.known;
    for (const product of [...found].slice(0, this.#products)) {
      if ((readAtMs[product] ?? 0) < madeAtMs + REPLICA_LAG_MS) this.#requests.set(product, madeAtMs);
    }
  }

  due(nowMs: number, limit: number): number[] {
    const due: number[] = [];
    for (const [product, madeAtMs] of this.#requests) {
      if (due.length >= limit) break;
      if (madeAtMs + REPLICA_LAG_MS <= nowMs) due.push(product);
    }
    return due;
  }
}

/** A policy beside the loss sweep, as in the mirror. */
export function swept(policyOf: (setting: Setting) => Policy) {
  return (setting: Setting): Policy => {
    const lossSweep = new LossSweep(setting);
    const policy = policyOf(setting);
    return {
      ...(policy.spent === undefined ? {} : { spent: policy.spent }),
      name: `loss sweep and ${policy.name.split(' ', 1)[0] ?? ''}`,
      changed: (product, atMs) => {
        lossSweep.changed(product);
        policy.changed(product, atMs);
      },
      wasRead: (product, sentAtMs, atMs) => {
        lossSweep.wasRead(product, sentAtMs);
        policy.wasRead(product, sentAtMs, atMs);
      },
      proved: (loss, atMs) => {
        lossSweep.proved(loss, atMs);
        policy.proved(loss, atMs);
      },
      take: (nowMs, free, ruled) => {
        const due = lossSweep.due(nowMs, free);
        return [...due, ...policy.take(nowMs, free - due.length, ruled)];
      },
    };
  };
}
