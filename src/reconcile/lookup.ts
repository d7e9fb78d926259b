/**
 * Finds the products of variants that a delivery named and no read has shown. The store has no such query, so the
 * catalogue list is read, latest edited first: a variant just created is on the first page.
 */
import { PageNews } from '../store-api/endpoints/page-news.ts';
import { PRODUCT_LIST_ENDPOINT } from '../store-api/endpoints/products.ts';
import type { Store } from '../mirror/store.ts';
import { listPage, type ListDeps } from './list-page.ts';
import { sleep } from '../platform/sleep.ts';

export interface LookupDeps extends ListDeps {
  readonly store: Store;
  readonly now: () => number;
}

const PAGE = 100;
const CHECK_MS = 100;
/** A page whose reads take longer than this is left to the queue, which continues them. */
const PAGE_READS_MS = 60_000;

/** What a search did not find. */
interface Unfound {
  /** Variants that the rest of the catalogue may hold. */
  readonly left: readonly string[];
  /** Variants that nothing in it holds: the miss is recorded, and another search is to confirm it. */
  readonly toConfirm: readonly string[];
}

export const NOTHING: Unfound = { left: [], toConfirm: [] };

/**
 * Records what was found, and after a whole search also what was not.
 *
 * @param extent `newest`: only the first page.
 * @throws StoreError, ServiceError when the list has no end, the signal's reason.
 */
export async function lookUp(
  deps: LookupDeps,
  variantIds: readonly string[],
  extent: 'newest' | 'everything',
  signal: AbortSignal,
): Promise<Unfound> {
  const { store, now } = deps;
  const { lastSeq: s0 } = store.writer;
  const sentAtMs = now();
  let isComplete = true;
  const news = new PageNews(PRODUCT_LIST_ENDPOINT);
  let shown: ReadonlySet<string> = new Set();
  for (let offset = 0; ; offset += PAGE) {
    const { page } = await listPage(
      deps,
      { limit: PAGE, offset, sort_by: 'update_time', sort_order: 'desc' },
      signal,
    );
    const ids = page.products.map((product) => product.id);
    if (page.has_more) news.note({ isNew: ids.some((id) => !shown.has(id)) });
    shown = new Set(ids);
    const productIds = await store.reader.ask('unreadSince', { productIds: ids, sinceMs: sentAtMs });
    // A search through the whole catalogue is long and must not hold up other re-read requests.
    if (extent === 'newest')
      await store.writer.append({ kind: 'listed', atMs: now(), productIds, lookup: true });
    else await requestStale(deps, productIds);
    if (!(await areRead(deps, productIds, sentAtMs, signal))) isComplete = false;
    const open = await store.reader.ask('stillUnmapped', { variantIds });
    if (open.length === 0) return NOTHING;
    if (page.has_more && page.products.length > 0) {
      if (extent === 'newest') return { ...NOTHING, left: open };
      continue;
    }
    if (!isComplete) return NOTHING;
    await store.writer.append({ kind: 'lookup_missed', atMs: now(), s0, sentAtMs, variantIds: open });
    return { ...NOTHING, toConfirm: await store.reader.ask('missedOnce', { variantIds: open }) };
  }
}

async function requestStale({ store, now }: LookupDeps, productIds: readonly string[]): Promise<void> {
  await store.writer.append({ kind: 'listed', atMs: now(), productIds, lookup: false });
  await store.writer.append({ kind: 'oblige', atMs: now(), reason: 'stale', productIds, variantIds: [] });
}

/** @returns false when the page's reads did not end in time: then a variant that was not found proves nothing. */
async function areRead(
  { store, now }: LookupDeps,
  productIds: readonly string[],
  sinceMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const untilMs = now() + PAGE_READS_MS;
  for (;;) {
    const left = await store.reader.ask('unreadSince', { productIds, sinceMs });
    if (left.length === 0) return true;
    if (now() > untilMs) return false;
    await sleep(CHECK_MS, signal);
  }
}
