/**
 * Reads the catalogue list to the end, by id, and adds products that the mirror does not know
 * (docs/architecture.md#catalogue-scan). Offsets shift when a product is deleted, so pages overlap: a page without
 * any product of the page before it may have skipped some, and the scan steps back.
 */
import { PageNews } from '../store-api/endpoints/page-news.ts';
import { PRODUCT_LIST_ENDPOINT } from '../store-api/endpoints/products.ts';
import type { Store } from '../mirror/store.ts';
import type { Run } from '../core/runs.ts';
import { listPage, type ListDeps } from './list-page.ts';

interface ScanDeps extends ListDeps {
  readonly store: Store;
  readonly now: () => number;
}

const PAGE = 100;
/** A list that loses its place more often than this is not shifting but broken. */
const MAX_RETURNS = 10;

/** @returns when the list is at its end and all of it is recorded. @throws StoreError, Error, the signal's reason. */
export async function scanCatalogue(deps: ScanDeps, run: Run, signal: AbortSignal): Promise<void> {
  const { store } = deps;
  let offset = run.listOffset;
  // After a restart only the last id of the page before is known. If that one is deleted, the scan begins again.
  let before: ReadonlySet<string> = new Set(run.listLastId === null ? [] : [run.listLastId]);
  let stepBack = 1;
  let returns = 0;
  const news = new PageNews(PRODUCT_LIST_ENDPOINT);
  /** Of the page before, also where it had none to spare for an overlap. */
  let shown = before;
  for (;;) {
    const { page } = await listPage(
      deps,
      { limit: PAGE, offset, sort_by: 'id', sort_order: 'asc', get_count: true },
      signal,
    );
    const ids = page.products.map((product) => product.id);
    if (offset > 0 && before.size > 0 && !ids.some((id) => before.has(id))) {
      offset = Math.max(0, offset - stepBack);
      stepBack *= 2;
      if (offset === 0) returns += 1;
      if (returns > MAX_RETURNS)
        throw new Error('the product list of the store has no steady order: report it to the store');
      continue;
    }
    stepBack = 1;
    if (page.has_more) news.note({ isNew: ids.some((id) => !shown.has(id)) });
    shown = new Set(ids);
    await recordListed(deps, ids);
    const last = ids.at(-1);
    const listDone = !page.has_more || last === undefined;
    // A page of one product has none to spare for an overlap: the scan would not advance.
    const canOverlap = ids.length > 1;
    const nextOffset = listDone ? offset : offset + (canOverlap ? ids.length - 1 : 1);
    await store.writer.command('checkpointRun', {
      id: run.id,
      listOffset: nextOffset,
      listLastId: canOverlap ? (last ?? null) : null,
      listDone,
      total: page.total ?? 0,
    });
    if (listDone) return;
    offset = nextOffset;
    before = canOverlap ? shown : new Set();
  }
}

async function recordListed({ store, now }: ScanDeps, ids: readonly string[]): Promise<void> {
  const productIds = await store.reader.ask('notMirrored', { productIds: ids });
  if (productIds.length === 0) return;
  await store.writer.append({ kind: 'listed', atMs: now(), productIds, lookup: false });
}
