/** Paged lists yield every row once. test/reconcile/catalogue-scan.test.ts changes the list meanwhile. */
import { expect, test } from 'vitest';
import { allProducts } from '../../src/store-api/all-rows.ts';
import { connected, failureOf } from './connection.ts';
import { sendJson } from './stub-service.ts';

const LIST = '/v1/product/list';

async function idsOf(rows: AsyncIterable<{ id: string }>): Promise<number[]> {
  const ids = [];
  for await (const { id } of rows) ids.push(Number(id));
  return ids;
}

test('allProducts reads every page by ascending id', async () => {
  const { service, client } = await connected();
  const ids = Array.from({ length: 250 }, (_, index) => index + 1);
  service.answer(LIST, (response, request) => {
    const { limit, offset } = JSON.parse(request.body) as { limit: number; offset: number };
    sendJson(response, 200, {
      products: ids.slice(offset, offset + limit).map((id) => ({ id: String(id), name: `p${id}` })),
      has_more: offset + limit < ids.length,
    });
  });
  expect(await idsOf(allProducts(client))).toEqual(ids);
  expect(service.to(LIST).map(({ body }) => JSON.parse(body) as unknown)).toEqual(
    [0, 99, 198].map((offset) => ({ sort_by: 'id', sort_order: 'asc', limit: 100, offset })),
  );
});

const row = (id: number) => ({ id: String(id), name: `p${id}` });
test.each<[string, (offset: number) => { id: string; name: string }[]]>([
  ['repeats its first page', () => [row(1), row(2)]],
  ['is empty and says there is more', () => []],
  ['says there is more after its end', (offset) => [row(1), row(2), row(3)].slice(offset)],
  ['repeats one product', () => [row(1)]],
])('rejects an endless list that %s', async (_how, rowsAt) => {
  const { service, client } = await connected();
  service.answer(LIST, (response, request) => {
    const { offset } = JSON.parse(request.body) as { offset: number };
    sendJson(response, 200, { products: rowsAt(offset), has_more: true });
  });
  expect(await failureOf(idsOf(allProducts(client)))).toMatchObject({
    kind: 'contract',
    endpoint: LIST,
    description: expect.stringMatching(/more but bring nothing new|no steady order/),
  });
});
