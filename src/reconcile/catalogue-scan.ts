/**
 * Reads the catalogue list by id and adds unknown products to
 * the mirror (docs/architecture.md#catalogue-scan).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../core/runs.ts';
import type { ProductListRequest } from '../store-api/contract/schemas.ts';
import { listPages } from '../store-api/endpoints/list-pages.ts';
import { PRODUCT_LIST_ENDPOINT, type ProductListAnswer } from '../store-api/endpoints/products.ts';
import { ServiceError } from '../store-api/transport/errors.ts';
import { fullJitterMs } from '../store-api/backoff.ts';
import type { ReadingDeps } from './product-reader.ts';

export const PAGE = 100;
const RETRY = { baseMs: 1_000, capMs: 60_000 };
/** A person must fix the cause of a refusal. */
const REFUSED_RETRY = { baseMs: 10_000, capMs: 15 * 60_000 };

/** Resolves once the whole list is recorded. @throws SqliteFault, ServiceError, the signal's reason. */
export async function scanCatalogue(deps: ReadingDeps, run: Run, signal: AbortSignal): Promise<void> {
  const { databases, now } = deps;
  const readPage = async (offset: number) => {
    const sorted = { sort_by: 'id', sort_order: 'asc' } as const;
    const { page, sentAtMs } = await listPage(
      deps,
      { limit: PAGE, offset, ...sorted, get_count: true },
      signal,
    );
    const { products: rows, total } = page;
    return { rows, hasMore: page.has_more && rows.length > 0, total, sentAtMs };
  };
  const from = { offset: run.listOffset, lastId: run.listLastId };
  for await (const { rows, total, sentAtMs, next } of listPages(PRODUCT_LIST_ENDPOINT, readPage, from)) {
    const productIds = await databases.reader.ask('absentProducts', { productIds: rows.map(({ id }) => id) });
    if (productIds.length > 0) {
      await databases.writer.append({ kind: 'listed', atMs: now(), sentAtMs, productIds, lookup: false });
    }
    if (next === null) {
      await databases.writer.append({ kind: 'list_completed', atMs: now(), sentAtMs: run.startedAtMs });
    }
    await databases.writer.command('checkpointRun', {
      ...run,
      listOffset: next?.offset ?? run.listOffset,
      listLastId: next?.lastId ?? null,
      listDone: next === null,
      total: total ?? 0,
    });
  }
}

/**
 * One page of the list, through the throttle; retried ever more rarely until answered.
 * @throws the signal's reason.
 */
export async function listPage(
  { throttle, client, random, log }: ReadingDeps,
  request: ProductListRequest,
  signal: AbortSignal,
): Promise<ProductListAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    await throttle.turn(signal);
    try {
      return await throttle.send(() => client.listProducts(request, { signal }));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      const refused = error.kind === 'rejected';
      const jitterMs = fullJitterMs(attempt, refused ? REFUSED_RETRY : RETRY, random());
      const waitMs = Math.max(error.retryAfterMs ?? 0, jitterMs);
      const isNews = refused || error.kind === 'contract';
      log[isNews ? 'warn' : 'debug'](
        { err: error, waitMs },
        'the store did not answer its product list; trying again',
      );
      await sleep(waitMs, undefined, { signal });
    }
  }
}
