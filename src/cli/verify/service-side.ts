/** The store as `verify` asks it: within the limits of the configuration, and with retries where they may help. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fullJitterMs } from '../../store-api/backoff.ts';
import type { ProductSnapshot } from '../../core/input.ts';
import { Throttle, type Blocked } from '../../reconcile/throttle.ts';
import type { CatalogueClient } from '../../store-api/client.ts';
import { ServiceError } from '../../store-api/transport/errors.ts';
import { PRODUCT_LIST_ENDPOINT } from '../../store-api/endpoints/products.ts';
import { snapshotOf } from '../../store-api/snapshot.ts';
import { listRows } from '../../store-api/endpoints/list-pages.ts';

interface ServiceSideDeps {
  readonly client: CatalogueClient;
  readonly maxConcurrency: number;
  readonly maxRps: number;
  /** The store whose figures they must be; null: nothing is mirrored yet. */
  readonly storeId: () => string | null;
  readonly onBlocked: (why: Blocked | null) => void;
  /** Ends every wait and request. */
  readonly signal: AbortSignal;
}

const ATTEMPTS = 6;
const RETRY = { baseMs: 500, capMs: 10_000 };
/** The largest page there is. */
const PAGE = 100;

export class ServiceSide {
  readonly #deps: ServiceSideDeps;
  readonly #throttle: Throttle;

  constructor(deps: ServiceSideDeps) {
    this.#deps = deps;
    this.#throttle = new Throttle({ ...deps, now: Date.now, random: Math.random });
  }

  /** @throws ServiceError, or the signal's reason. */
  async productIds(): Promise<string[]> {
    const { client, signal } = this.#deps;
    const ids: string[] = [];
    const rows = listRows(PRODUCT_LIST_ENDPOINT, async (offset) => {
      const request = { sort_by: 'id', sort_order: 'asc', limit: PAGE, offset } as const;
      const { page } = await this.#ask(() => client.listProducts(request, { signal }));
      return { rows: page.products, hasMore: page.has_more };
    });
    for await (const { id } of rows) ids.push(id);
    return ids;
  }

  /**
   * @param onSend called just before each request.
   * @returns null when the store has no such product.
   * @throws ServiceError, or the signal's reason.
   */
  async product(productId: string, onSend: () => void): Promise<ProductSnapshot | null> {
    const { client, signal } = this.#deps;
    const answer = await this.#ask(() => {
      onSend();
      return client.productDetail(productId, { signal });
    });
    if (answer.outcome !== 'found') return null;
    const { store_id: storeId } = answer.product;
    const mirrored = this.#deps.storeId();
    if (mirrored !== null && storeId !== mirrored) {
      throw new Error(
        `the credentials are those of store ${storeId}, but this mirror holds store ${mirrored}: set the credentials of that store`,
      );
    }
    return snapshotOf(answer.product, '');
  }

  async #ask<T>(request: () => Promise<T>): Promise<T> {
    const { signal } = this.#deps;
    for (let attempt = 1; ; attempt += 1) {
      await this.#throttle.turn(signal);
      try {
        return await this.#throttle.send(request);
      } catch (error) {
        signal.throwIfAborted();
        if (attempt === ATTEMPTS || !isWorthAnother(error)) throw error;
        const jitterMs = fullJitterMs(attempt, RETRY, Math.random());
        await sleep(Math.max(error.retryAfterMs ?? 0, jitterMs), undefined, { signal });
      }
    }
  }
}

function isWorthAnother(error: unknown): error is ServiceError {
  return (
    error instanceof ServiceError &&
    (error.kind === 'unavailable' || error.kind === 'rate_limited' || error.kind === 'contract')
  );
}
