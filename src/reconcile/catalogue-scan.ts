/**
 * Reads the catalogue list by id and adds unknown products to
 * the mirror (docs/architecture.md#catalogue-scan).
 */
import type { Run } from '../core/runs.ts';
import { listPages } from '../store-api/endpoints/list-pages.ts';
import { PRODUCT_LIST_ENDPOINT } from '../store-api/endpoints/products.ts';
import { MOST_GAPS, PAGE, readRows, type ListGap } from './list-reader.ts';
import type { ReadingDeps } from './product-reader.ts';

const BY_ID = { sort_by: 'id', sort_order: 'asc' } as const;

/** Resolves once the whole list is recorded. @throws SqliteFault, ServiceError, the signal's reason. */
export async function scanCatalogue(deps: ReadingDeps, run: Run, signal: AbortSignal): Promise<void> {
  const { mirror, now } = deps;
  const gaps = new Map<number, ListGap>();
  let { listGap } = run;
  const readPage = async (offset: number) => {
    const page = await readRows(deps, BY_ID, { offset, limit: PAGE }, signal);
    for (const gap of page.gaps) gaps.set(gap.offset, gap);
    const isCut = gaps.size >= MOST_GAPS;
    if (gaps.size > 0) listGap = gapWords([...gaps.values()], isCut);
    return { ...page, hasMore: page.hasMore && !isCut };
  };
  const from = { offset: run.listOffset, lastId: run.listLastId };
  for await (const { rows, total, sentAtMs, next } of listPages(PRODUCT_LIST_ENDPOINT, readPage, from)) {
    const productIds = await mirror.ask('absentProducts', { productIds: rows.map(({ id }) => id) });
    if (productIds.length > 0) {
      await mirror.append({ kind: 'listed', atMs: now(), sentAtMs, productIds, lookup: false });
    }
    if (next === null && listGap === null) {
      await mirror.append({ kind: 'list_completed', atMs: now(), sentAtMs: run.startedAtMs });
    }
    await mirror.command('checkpointRun', {
      ...run,
      listOffset: next?.offset ?? run.listOffset,
      listLastId: next?.lastId ?? null,
      listDone: next === null,
      listGap,
      total: total ?? 0,
    });
  }
}

function gapWords(gaps: readonly ListGap[], isCut: boolean): string {
  const offsets = gaps.map(({ offset }) => offset).toSorted((a, b) => a - b);
  const where = isCut ? `from offset ${offsets[0]} on` : `at offset ${offsets.join(', ')}`;
  return `${where} (${gaps[0]?.problem})`;
}
