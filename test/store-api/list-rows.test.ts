/** Paged lists yield every row once, also while the list changes. */
import { describe, expect, test } from 'vitest';
import { allProducts } from '../../src/store-api/all-rows.ts';
import { listRows } from '../../src/store-api/endpoints/list-pages.ts';
import { connected, failureOf } from './connection.ts';
import { sendJson } from './stub-service.ts';

const LIST = '/v1/product/list';

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
const products = (from: number, to: number) =>
  numbers(from, to).map((id) => ({ id: String(id), name: `p${id}` }));

/** Serves rows in pages; `onPage` may change them after each. */
async function listing(rows: unknown[], onPage: (nth: number) => void = () => undefined) {
  const { service, client } = await connected();
  service.answer(LIST, (response, request, nth) => {
    const { limit, offset } = JSON.parse(request.body) as { limit: number; offset: number };
    sendJson(response, 200, {
      products: rows.slice(offset, offset + limit),
      has_more: offset + limit < rows.length,
    });
    onPage(nth);
  });
  return { service, client, asked: () => service.to(LIST).map(({ body }) => JSON.parse(body) as unknown) };
}

async function idsOf(rows: AsyncIterable<{ id: string }>): Promise<number[]> {
  const ids = [];
  for await (const { id } of rows) ids.push(Number(id));
  return ids;
}

describe('allProducts', () => {
  test('reads every page by ascending id', async () => {
    const { client, asked } = await listing(products(1, 250));
    expect(await idsOf(allProducts(client))).toEqual(numbers(1, 250));
    expect(asked()).toEqual(
      [0, 99, 198].map((offset) => ({ sort_by: 'id', sort_order: 'asc', limit: 100, offset })),
    );
  });

  test.each([0, 1, 2, 100, 101, 199])('reads a list of %i', async (count) => {
    const { client } = await listing(products(1, count));
    expect(await idsOf(allProducts(client))).toEqual(numbers(1, count));
  });

  test.each([1, 30, 99, 100])(
    'misses none when %i products listed already are deleted between pages',
    async (gone) => {
      const rows = products(1, 250);
      const { client } = await listing(rows, (nth) => {
        if (nth === 1) rows.splice(0, gone);
      });
      expect(await idsOf(allProducts(client))).toEqual(numbers(1, 250));
    },
  );

  test('lists a product once when others are put before it', async () => {
    const rows = products(1, 250);
    const { client } = await listing(rows, (nth) => {
      if (nth === 1) rows.unshift(...products(900, 949));
    });
    const ids = await idsOf(allProducts(client));
    expect(ids).toEqual(numbers(1, 250));
  });
});

const row = (id: number) => ({ id: String(id) });
test.each<[string, (offset: number) => { id: string }[]]>([
  ['repeats its first page', () => [row(1), row(2)]],
  ['is empty and says there is more', () => []],
  ['says there is more after its end', (offset) => [row(1), row(2), row(3)].slice(offset)],
  ['repeats one product', () => [row(1)]],
])('rejects an endless list that %s', async (_how, rowsAt) => {
  const readPage = (offset: number) => Promise.resolve({ rows: rowsAt(offset), hasMore: true });
  expect(await failureOf(idsOf(listRows('/v1/list', readPage)))).toMatchObject({
    kind: 'contract',
    endpoint: '/v1/list',
  });
});
