import { z } from '@hono/zod-openapi';
import type { OpsDeps } from '../shared/operator.ts';
import { epochSchema, instant, lastSeqSchema } from '../shared/shapes.ts';
import {
  apiRouter,
  endOf,
  flagParameter,
  limitParameter,
  listEnd,
  reading,
  type ApiRouter,
} from './router.ts';
import { sellableRowSchema, stockRowSchema, variantRowSchema } from './rows.ts';

const PAGING =
  'A filtered page may hold fewer rows than `limit`, even none, while `has_more` is true. To copy ' +
  'everything, keep the `last_seq` of the first page, read to the end, and follow /api/changes from ' +
  'there: changes made in the meantime come again, with the same quantities.';

/** The store sets no length. */
const idParameter = z.string().regex(/^[0-9]+$/, 'must be an id, which has digits only');
const named = {
  variant_id: idParameter.optional(),
  sku: z.string().min(1, 'must not be empty').max(500, 'is too long').optional(),
  product_id: idParameter.optional(),
  limit: limitParameter,
};
const filter = { ...named, suspect: flagParameter('1: only suspect rows; 0: only the others.') };
const page = { epoch: epochSchema, last_seq: lastSeqSchema, ...listEnd };

const sellable = reading('/api/sellable', {
  operationId: 'sellable',
  summary: 'What can be sold, and whether to trust it',
  description:
    'The rows of the view mirror_sellable, by variant and warehouse. Each unit is in one row: ' +
    `a variant has rows of its warehouses, or one row of its total. ${PAGING}`,
  query: {
    ...named,
    variant_id: z
      .string()
      .regex(/^[0-9]+(?:,[0-9]+){0,99}$/, 'must be up to 100 ids, separated by commas')
      .optional()
      .openapi({ description: 'One id, or up to 100 that are separated by commas.' }),
    warehouse_id: idParameter.optional(),
    trusted: flagParameter('1: only trusted rows; 0: only the others.'),
    after: z
      .string()
      .regex(/^[0-9]+:[0-9]*$/, 'must be the `next` of the previous page')
      .optional()
      .openapi({ description: 'The `next` of the previous page.' }),
  },
  answer: z.object({
    ...page,
    as_of: instant.meta({
      description:
        'Epoch milliseconds. A `trust` object with a later `as_of` is newer than these rows; after ' +
        'an earlier one, a row keeps its own `trusted`.',
    }),
    sellable: z.array(sellableRowSchema).readonly(),
  }),
});

const stock = reading('/api/stock', {
  operationId: 'stock',
  summary: 'Stock by variant and warehouse',
  description: `The rows of the view mirror_stock, by variant and warehouse. ${PAGING}`,
  query: {
    ...filter,
    warehouse_id: idParameter.optional(),
    after: z
      .string()
      .regex(/^[0-9]+:[0-9]+$/, 'must be the `next` of the previous page')
      .optional()
      .openapi({ description: 'The `next` of the previous page.' }),
  },
  answer: z.object({ ...page, stock: z.array(stockRowSchema).readonly() }),
});

const variants = reading('/api/variants', {
  operationId: 'variants',
  summary: 'Variants with their totals',
  description: `The rows of the view mirror_variants, by variant. ${PAGING}`,
  query: {
    ...filter,
    after: idParameter.optional().openapi({ description: 'The `next` of the previous page.' }),
  },
  answer: z.object({ ...page, variants: z.array(variantRowSchema).readonly() }),
});

export function stockRoutes({ reader, now }: OpsDeps): ApiRouter {
  const app = apiRouter();
  app.openapi(sellable, async (c) => {
    const {
      after = ':',
      limit,
      warehouse_id: warehouseId,
      variant_id: variantIds,
      ...query
    } = c.req.valid('query');
    const [variantId = '', afterWarehouseId = ''] = after.split(':');
    const { epoch, lastSeq, rows, last, hasMore } = await reader.ask('sellableRows', {
      ...filterOf(query),
      variantIds: variantIds === undefined ? undefined : [...new Set(variantIds.split(','))],
      warehouseId,
      after: { variantId, warehouseId: afterWarehouseId },
      limit,
    });
    const next = hasMore && last !== null ? `${last.variantId}:${last.warehouseId}` : null;
    return c.json({ epoch, last_seq: lastSeq, as_of: now(), sellable: rows, ...endOf(next) }, 200);
  });
  app.openapi(stock, async (c) => {
    const { after = ':', limit, warehouse_id: warehouseId, ...query } = c.req.valid('query');
    const [variantId = '', afterWarehouseId = ''] = after.split(':');
    const { epoch, lastSeq, rows, last, hasMore } = await reader.ask('stockRows', {
      ...filterOf(query),
      warehouseId,
      after: { variantId, warehouseId: afterWarehouseId },
      limit,
    });
    const next = hasMore && last !== null ? `${last.variantId}:${last.warehouseId}` : null;
    return c.json({ epoch, last_seq: lastSeq, stock: rows, ...endOf(next) }, 200);
  });
  app.openapi(variants, async (c) => {
    const { after = '', limit, ...query } = c.req.valid('query');
    const found = await reader.ask('variantRows', { ...filterOf(query), after, limit });
    const { epoch, lastSeq, rows, last, hasMore } = found;
    return c.json({ epoch, last_seq: lastSeq, variants: rows, ...endOf(hasMore ? last : null) }, 200);
  });
  return app;
}

interface FilterQuery {
  readonly variant_id?: string | undefined;
  readonly sku?: string | undefined;
  readonly product_id?: string | undefined;
  readonly suspect?: boolean | undefined;
  readonly trusted?: boolean | undefined;
}

function filterOf({ variant_id: variantId, product_id: productId, sku, suspect, trusted }: FilterQuery) {
  return { variantId, productId, sku, suspect: flagOf(suspect), trusted: flagOf(trusted) };
}

function flagOf(value: boolean | undefined): 0 | 1 | undefined {
  return value === undefined ? undefined : value ? 1 : 0;
}
