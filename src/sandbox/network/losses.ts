/**
 * Webhooks lost on purpose, one at a time, and what became of each: the next webhook of the same stock level shows the
 * receiver that one is missing, and a read of the product repairs it.
 */
import type { Agenda } from '../world/agenda.ts';
import type { Clock } from '../world/clock.ts';
import type { Deliveries, DeliveryRecord } from './deliveries.ts';
import type { Variant } from '../world/model.ts';
import type { Network } from './network.ts';
import type { Operations } from '../world/operations.ts';
import type { Random } from '../world/random.ts';
import { OperationError, requireLevel, requireVariant } from '../world/targets.ts';
import type { Truth } from '../world/truth.ts';
import type { SentItem } from './webhooks.ts';

export interface Loss {
  readonly productId: string;
  readonly variant: Variant;
  readonly warehouseId: string;
  readonly lost: DeliveryRecord;
  /** The change that nobody was told. */
  readonly change: SentItem;
  /** The first later webhook of the stock level that the receiver took: its `old` gives the loss away. */
  readonly revealedBy: { readonly record: DeliveryRecord; readonly change: SentItem } | null;
  /** When a product detail was answered that shows the change, after it was revealed. Base clock. */
  readonly readAtMs: number | null;
}

interface LossesDeps {
  readonly truth: Truth;
  readonly operations: Operations;
  readonly network: Network;
  readonly deliveries: Deliveries;
  readonly agenda: Agenda;
  readonly clock: Clock;
  readonly random: Random;
}

const KEPT = 20;
const NEXT_CHANGE_AFTER_MS = 1_000;
const UNITS = { min: 1, max: 9 };
/** One of the first products: the page shows them without turning over. */
const AMONG_PRODUCTS = 20;

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

export class Losses {
  readonly #deps: LossesDeps;
  readonly #losses: Writable<Loss>[] = [];

  constructor(deps: LossesDeps) {
    this.#deps = deps;
    deps.deliveries.onSettled((record) => this.#settled(record));
  }

  /** Latest first. */
  get recent(): readonly Loss[] {
    return this.#losses.toReversed();
  }

  /**
   * Changes a stock level without its webhook ever being sent, and soon after changes it again.
   *
   * @param at by default a level of one of the first products.
   * @throws OperationError when there is no such level, or no webhooks are sent at all.
   */
  lose(
    at: { readonly variantId?: string | undefined; readonly warehouseId?: string | undefined } = {},
  ): Loss {
    const { operations, network, random, agenda, truth } = this.#deps;
    const variant = at.variantId === undefined ? this.#anyVariant() : requireVariant(truth, at.variantId);
    const { warehouseId } = requireLevel(variant, at.warehouseId);
    const sell = (): unknown =>
      operations.add({ variantId: variant.id, warehouseId, by: random.int(UNITS.min, UNITS.max) });

    if (!network.sends) throw new OperationError('no webhooks are sent, so none can be lost');
    const [lost] = network.loseDuring(sell);
    const change = lost?.delivery.items[0];
    if (lost === undefined || change === undefined) throw new OperationError('the change made no webhook');
    const productId = variant.product.id;
    const loss = { productId, variant, warehouseId, lost, change, revealedBy: null, readAtMs: null };
    this.#losses.push(loss);
    if (this.#losses.length > KEPT) this.#losses.shift();
    agenda.after(NEXT_CHANGE_AFTER_MS, () => {
      try {
        sell();
      } catch (error) {
        // The variant has been deleted meanwhile: nothing reveals the loss then.
        if (!(error instanceof OperationError)) throw error;
      }
    });
    return loss;
  }

  /** To be called for each product detail that was answered, with how old the truth was that it showed. */
  detailAnswered(productId: string, shownAtMs: number): void {
    for (const loss of this.#losses) {
      const isLater = loss.revealedBy !== null && shownAtMs >= (loss.revealedBy.record.sentAtMs ?? Infinity);
      if (loss.productId === productId && isLater) loss.readAtMs ??= this.#deps.clock.baseNow();
    }
  }

  #settled(record: DeliveryRecord): void {
    if (record.outcome !== 'answered' || record.status === null || record.status > 299) return;
    for (const loss of this.#losses) {
      const { lost, variant, warehouseId } = loss;
      if (loss.revealedBy !== null || record.clientId !== lost.clientId) continue;
      if (record.createdAtMs < lost.createdAtMs || record.delivery === lost.delivery) continue;
      const change = record.delivery.items.find(
        ({ id, warehouse_id: at }) => id === variant.id && at === warehouseId,
      );
      if (change !== undefined) loss.revealedBy = { record, change };
    }
  }

  #anyVariant(): Variant {
    const { truth, random } = this.#deps;
    const isFit = ({ kind, levels, deleted }: Variant): boolean =>
      !deleted && kind === 'own' && levels.length > 0;
    const fit = truth.products
      .filter((product) => !product.deleted)
      .slice(0, AMONG_PRODUCTS)
      .flatMap(({ variants }) => variants.filter(isFit));
    if (fit.length === 0) throw new OperationError('the first products have no stock of their own');
    return random.pick(fit);
  }
}
