/**
 * Goes through a paged list to its end. Offsets shift when an earlier row is removed, so each page begins with the
 * last row of the page before it; where no known row appears, some may have been skipped, and the reading steps back.
 */
import { PageNews } from './page-news.ts';

interface ListPage<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
}

/**
 * Every row once. All of them, if the list has a steady order; rows that change places while the list is read may be
 * missed.
 *
 * @param readPage the page that begins at a row, counted from 0; with more than one row wherever there are more.
 * @throws what `readPage` throws; ServiceError of kind `contract` for a list that does not come to an end.
 */
export async function* listRows<Row extends { readonly id: string }>(
  endpoint: string,
  readPage: (offset: number) => Promise<ListPage<Row>>,
): AsyncGenerator<Row, void, undefined> {
  const seen = new Set<string>();
  let offset = 0;
  let stepBack = 1;
  const news = new PageNews(endpoint);
  /** How far the reading has come. Before that, on the way after a step back, nothing new is expected. */
  let furthest = 0;
  for (;;) {
    const { rows, hasMore } = await readPage(offset);
    const end = offset + rows.length;
    const isConnected = offset === 0 || rows.some(({ id }) => seen.has(id));
    if (!isConnected) {
      offset = Math.max(0, offset - stepBack);
      stepBack *= 2;
      continue;
    }
    stepBack = 1;
    const seenBefore = seen.size;
    for (const row of rows) {
      if (seen.has(row.id)) continue;
      seen.add(row.id);
      yield row;
    }
    if (!hasMore) return;
    const isNew = seen.size > seenBefore;
    if (isNew || offset === 0 || end >= furthest) news.note({ isNew });
    furthest = Math.max(furthest, end);
    offset = Math.max(0, end - 1);
  }
}
