/** `GET /api/stock`, `GET /api/variants`: the SQL views, page by page. */
import { createRoute, z } from '@hono/zod-openapi';
import type { StoreReader } from '../../mirror/mirror.ts';
import { flagParameter, idParameter, limitParameter, listEnd, skuParameter } from './parameters.ts';
import { answers, apiRouter, withRefusals, type ApiRouter } from './router.ts';
import { epochSchema, lastSeqSchema, stockRowSchema, variantRowSchema } from './rows.ts';

const PAGING =
  'A filtered page may hold fewer rows than `limit`, even none, while `has_more` is true. To copy everything, keep the `last_seq` of the first page, read to the end, and follow /api/changes from there: changes made in the meantime come again, with the same figures.';

const filter = {
  variant_id: idParameter.optional(),
  sku: skuParameter.optional(),
  product_id: idParameter.optional(),
  suspect: flagParameter.optional().openapi({ description: '1: only suspect rows; 0: only the others.' }),
  limit: limitParameter,
};
const page = { epoch: epochSchema, last_seq: lastSeqSchema, ...listEnd };

const stock = createRoute({
  method: 'get',
  path: '/api/stock',
  operationId: 'stock',
  summary: 'Stock by variant and warehouse',
  description: `The rows of the view mirror_stock, by variant and warehouse. ${PAGING}`,
  request: {
    query: z.strictObject({
      ...filter,
      warehouse_id: idParameter.optional(),
      after: z
        .string()
        .regex(/^[0-9]{1,32}:[0-9]{1,32}$/, 'must be the `next` of the previous page')
        .optional()
        .openapi({ description: 'The `next` of the previous page.' }),
    }),
  },
  responses: withRefusals({ 200: answers('A page', z.object({ ...page, stock: z.array(stockRowSchema) })) }),
});

const variants = createRoute({
  method: 'get',
  path: '/api/variants',
  operationId: 'variants',
  summary: 'Variants with their totals',
  description: `The rows of the view mirror_variants, by variant. ${PAGING}`,
  request: {
    query: z.strictObject({
      ...filter,
      after: idParameter.optional().openapi({ description: 'The `next` of the previous page.' }),
    }),
  },
  responses: withRefusals({
    200: answers('A page', z.object({ ...page, variants: z.array(variantRowSchema) })),
  }),
});

export function stockRoutes(reader: StoreReader): ApiRouter {
  const app = apiRouter();
  app.openapi(stock, async (c) => {
    const { after = ':', limit, ...query } = c.req.valid('query');
    const [variantId = '', warehouseId = ''] = after.split(':');
    const { epoch, lastSeq, rows, last, hasMore } = await reader.ask('stockRows', {
      ...filterOf(query),
      warehouseId: query.warehouse_id,
      after: { variantId, warehouseId },
      limit,
    });
    const next = hasMore && last !== null ? `${last.variantId}:${last.warehouseId}` : null;
    return c.json({ epoch, last_seq: lastSeq, stock: [...rows], next, has_more: hasMore }, 200);
  });
  app.openapi(variants, async (c) => {
    const { after = '', limit, ...query } = c.req.valid('query');
    const { epoch, lastSeq, rows, last, hasMore } = await reader.ask('variantRows', {
      ...filterOf(query),
      after,
      limit,
    });
    const next = hasMore ? last : null;
    return c.json({ epoch, last_seq: lastSeq, variants: [...rows], next, has_more: hasMore }, 200);
  });
  return app;
}

function filterOf(query: {
  readonly variant_id?: string | undefined;
  readonly sku?: string | undefined;
  readonly product_id?: string | undefined;
  readonly suspect?: 0 | 1 | undefined;
}) {
  const { variant_id: variantId, product_id: productId, sku, suspect } = query;
  return { variantId, productId, sku, suspect };
}
