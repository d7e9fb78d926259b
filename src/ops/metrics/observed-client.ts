/** The catalogue client, with every call counted by result. */
import type { Counter } from 'prom-client';
import type { CatalogueClient } from '../../store-api/client.ts';
import { ServiceError } from '../../store-api/transport/errors.ts';
import type { Counting, ReadOutcome } from './counting.ts';

export function observedClient(
  client: CatalogueClient,
  { reads, pages, retries }: Counting,
): CatalogueClient {
  const count = async <T>(
    counters: Readonly<Record<ReadOutcome, Counter.Internal>>,
    call: Promise<T>,
    outcomeOf: (answer: T) => 'found' | 'not_found',
  ): Promise<T> => {
    try {
      const answer = await call;
      counters[outcomeOf(answer)].inc();
      return answer;
    } catch (error) {
      if (error instanceof ServiceError) {
        counters[error.kind].inc();
        // A refused read waits for a schedule or an operator, an aborted one for the next start.
        if (error.kind !== 'rejected' && error.kind !== 'aborted') retries.inc();
      }
      throw error;
    }
  };
  return {
    listProducts: (request, options) => count(pages, client.listProducts(request, options), () => 'found'),
    productDetail: (productId, options) =>
      count(reads, client.productDetail(productId, options), ({ outcome }) => outcome),
  };
}
