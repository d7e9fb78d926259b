/**
 * Offsets shift when an earlier row is removed, so each page begins with the last row of the page before. If a page has
 * none of its rows, some may have been skipped: step back, twice as far each time.
 */
import { ServiceError } from '../transport/errors.ts';

interface ListPage<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
}

interface ListPlace {
  readonly offset: number;
  /** The last row of the previous page; null if none. */
  readonly lastId: string | null;
}

/** More than this is not a shifting list but a broken one. */
const MAX_FAULTS = 10;

/**
 * Yields every row of a list with a stable order, some more than once; `next` is null after the last page.
 * @param readPage reads from a row, counted from 0.
 * @throws ServiceError `contract` for a list without a stable order or an end, and what `readPage` throws.
 */
export async function* listPages<Row extends { readonly id: string }, Page extends ListPage<Row>>(
  endpoint: string,
  readPage: (offset: number) => Promise<Page>,
  from: ListPlace = { offset: 0, lastId: null },
): AsyncGenerator<Page & { readonly next: ListPlace | null }, void, undefined> {
  const broken = (description: string) => new ServiceError({ kind: 'contract', endpoint, description });
  let { offset } = from;
  let before: ReadonlySet<string> = new Set(from.lastId === null ? [] : [from.lastId]);
  let lastIds = before;
  let stepBack = 1;
  let returns = 0;
  let withoutNews = 0;
  for (;;) {
    const page = await readPage(offset);
    const ids = page.rows.map(({ id }) => id);
    if (offset > 0 && before.size > 0 && !ids.some((id) => before.has(id))) {
      offset = Math.max(0, offset - stepBack);
      stepBack *= 2;
      if (offset === 0) returns += 1;
      if (returns > MAX_FAULTS) throw broken('the list has no steady order');
      continue;
    }
    stepBack = 1;
    if (!page.hasMore) {
      yield { ...page, next: null };
      return;
    }
    withoutNews = ids.some((id) => !lastIds.has(id)) ? 0 : withoutNews + 1;
    if (withoutNews > MAX_FAULTS) {
      throw broken(`${MAX_FAULTS} pages in a row say that there is more but bring nothing new`);
    }
    lastIds = new Set(ids);
    // A page of one row cannot overlap and advance.
    const overlaps = ids.length > 1;
    before = overlaps ? lastIds : new Set();
    offset += overlaps ? ids.length - 1 : 1;
    yield { ...page, next: { offset, lastId: overlaps ? (ids.at(-1) ?? null) : null } };
  }
}
