/** One page of the catalogue list, through the throttle, retried until it arrives. */
import { fullJitterMs } from '../traffic/backoff.ts';
import type { Logger } from '../platform/log.ts';
import type { CatalogueClient } from '../store-api/client.ts';
import { ServiceError } from '../store-api/transport/errors.ts';
import type { ProductListAnswer } from '../store-api/endpoints/products.ts';
import type { ProductListRequest } from '../store-api/contract/schemas.ts';
import { sleep } from '../platform/sleep.ts';
import type { Throttle } from './throttle.ts';

export interface ListDeps {
  readonly client: CatalogueClient;
  readonly throttle: Throttle;
  readonly random: () => number;
  readonly log: Logger;
}

const RETRY = { baseMs: 1_000, capMs: 60_000 };
/** A refusal needs a person to fix it, on one side or the other. */
const REFUSED_RETRY = { baseMs: 10_000, capMs: 15 * 60_000 };

/**
 * @returns the page; waits and tries again, ever more rarely, while the store does not give it.
 * @throws the signal's reason.
 */
export async function listPage(
  deps: ListDeps,
  request: ProductListRequest,
  signal: AbortSignal,
): Promise<ProductListAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    await deps.throttle.turn(signal);
    try {
      return await deps.throttle.send(() => deps.client.listProducts(request, { signal }));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      const refused = error.kind === 'rejected';
      const jitterMs = fullJitterMs(attempt, refused ? REFUSED_RETRY : RETRY, deps.random());
      const waitMs = Math.max(error.retryAfterMs ?? 0, jitterMs);
      const isNews = refused || error.kind === 'contract';
      deps.log[isNews ? 'warn' : 'debug'](
        { err: error, waitMs },
        'the store did not answer its product list; trying again',
      );
      await sleep(waitMs, signal);
    }
  }
}
