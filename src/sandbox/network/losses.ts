/** Loses webhooks on purpose: the next webhook of the same stock level reveals the loss, and a read repairs it. */
import type { Clock } from '../world/clock.ts';
import type { DeliveryLog, DeliveryRecord } from './deliveries.ts';
import type { Variant } from '../world/model.ts';
import type { Network } from './network.ts';
import type { Operations } from '../world/operations.ts';
import type { Random } from '../world/random.ts';
import { OperationError } from '../shared/errors.ts';
import { requireLevel } from '../world/targets.ts';
import type { Truth } from '../world/truth.ts';
import type { SentItem } from './webhooks.ts';

interface Lost {
  readonly productId: string;
  readonly variant: Variant;
  readonly warehouseId: string;
  readonly lost: DeliveryRecord;
  readonly change: SentItem;
  /** The first answer with the change after the loss was revealed. Base clock. */
  readAtMs: number | null;
}

export interface Loss extends Readonly<Lost> {
  /** The next acknowledged webhook of the stock level, whose `old` shows the loss. */
  readonly revealedBy: { readonly record: DeliveryRecord; readonly change: SentItem } | null;
}

interface LossesDeps {
  readonly truth: Truth;
  readonly operations: Operations;
  readonly network: Network;
  readonly deliveries: DeliveryLog;
  readonly clock: Clock;
  readonly random: Random;
}

const KEPT = 20;
const NEXT_CHANGE_AFTER_MS = 1_000;
const UNITS = { min: 1, max: 9 };
const AMONG_VARIANTS = 40;

export class Losses {
  readonly #deps: LossesDeps;
  readonly #losses: Lost[] = [];

  constructor(deps: LossesDeps) {
    this.#deps = deps;
  }

  get recent(): readonly Loss[] {
    return this.#losses.map((lost) => ({ ...lost, revealedBy: this.#revealing(lost) })).reverse();
  }

  /** Changes a stock level without a webhook, and soon afterwards changes it again. @throws OperationError */
  lose(): Loss {
    const { operations, network, deliveries, random, clock } = this.#deps;
    const variant = this.#anyVariant();
    const { warehouseId } = requireLevel(variant);
    const sell = (): unknown =>
      operations.add({ variantId: variant.id, warehouseId, by: random.int(UNITS.min, UNITS.max) });

    if (!network.sends) throw new OperationError('no webhooks are sent, so none can be lost');
    network.loseNext(1);
    sell();
    const lost = deliveries.records.findLast(({ clientId }) => clientId === network.clientId);
    const change = lost?.delivery.items[0];
    if (lost === undefined || change === undefined) throw new OperationError('the change made no webhook');
    const productId = variant.product.id;
    const loss = { productId, variant, warehouseId, lost, change, readAtMs: null };
    this.#losses.push(loss);
    if (this.#losses.length > KEPT) this.#losses.shift();
    clock.after(NEXT_CHANGE_AFTER_MS, () => {
      try {
        sell();
      } catch (error) {
        if (!(error instanceof OperationError)) throw error;
      }
    });
    return { ...loss, revealedBy: null };
  }

  /** Call for each product detail answered with the truth of `ageMs` ago. */
  shown(productId: string, ageMs: number): void {
    const nowMs = this.#deps.clock.baseNow();
    for (const loss of this.#losses) {
      if (loss.productId !== productId || loss.readAtMs !== null) continue;
      const revealedAtMs = this.#revealing(loss)?.record.sentAtMs ?? Infinity;
      if (nowMs - ageMs >= revealedAtMs) loss.readAtMs = nowMs;
    }
  }

  #revealing({ lost, variant, warehouseId }: Lost): Loss['revealedBy'] {
    for (const record of this.#deps.deliveries.records) {
      const isTaken = record.outcome === 'answered' && record.status !== null && record.status < 300;
      if (!isTaken || record.clientId !== lost.clientId || record.createdAtMs < lost.createdAtMs) continue;
      const change = record.delivery.items.find(
        (item) => item.id === variant.id && item.warehouse_id === warehouseId,
      );
      if (change !== undefined) return { record, change };
    }
    return null;
  }

  #anyVariant(): Variant {
    const { truth, random } = this.#deps;
    const fit = truth.variants
      .slice(0, AMONG_VARIANTS)
      .filter(
        ({ id, kind, levels }) => kind === 'own' && levels.length > 0 && truth.variant(id) !== undefined,
      );
    if (fit.length === 0) throw new OperationError('none of the first products has stock');
    return random.pick(fit);
  }
}
