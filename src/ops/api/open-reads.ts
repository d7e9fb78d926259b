import { z } from '@hono/zod-openapi';
import type { MirrorReader } from '../../mirror/mirror.ts';
import type { OpenReadKind } from '../../mirror/queries/open-reads.ts';
import { instant, instantOrNull } from '../shared/shapes.ts';
import { apiRouter, endOf, limitParameter, listEnd, reading, type ApiRouter } from './router.ts';

const KINDS = ['held', 'failing'] as const satisfies readonly OpenReadKind[];

const openReadSchema = z
  .object({
    product_id: z.string(),
    product_name: z.string().nullable().meta({ description: 'null: no read has shown it.' }),
    since: instant,
    missing: z
      .object({
        product: z.boolean().meta({ description: 'The whole product.' }),
        variants: z.int(),
        levels: z.int(),
      })
      .meta({ description: 'Rows of the mirror that the latest read did not show.' }),
    quantities: z.int().meta({ description: 'Rows of `mirror_sellable` that would go with them.' }),
    units: z.int().meta({ description: 'The sum of these quantities.' }),
    skus: z.array(z.string()).meta({ description: 'Of these rows: at most 20.' }),
    failed_at: instantOrNull,
    last_error: z.string().nullable(),
    attempts: z.int().meta({ description: 'Failed reads since one succeeded or a retry was requested.' }),
    retry_at: instantOrNull.meta({
      description:
        'Earliest retry; null if the store refused the read: only a schedule, a run or a request by ' +
        'an operator tries again.',
    }),
  })
  .openapi('OpenRead');

const openReads = reading('/api/open-reads', {
  operationId: 'openReads',
  summary: 'Held removals, and products whose reads fail',
  description:
    '`held`: the store no longer shows these products, or a part of them, and the mass-removal guard ' +
    'keeps them, not trusted, until you decide (POST /api/resync with `allow_removals`); `held` counts what would go ' +
    'with all of them, also on other pages. `failing`: the last read ' +
    'of these products failed.',
  query: {
    kind: z.enum(KINDS, `must be one of ${KINDS.join(', ')}`).default('held'),
    after: z
      .string()
      .regex(/^[0-9]+$/, 'must be the `next` of the previous page')
      .optional()
      .openapi({ description: 'The `next` of the previous page.' }),
    limit: limitParameter,
  },
  answer: z.object({
    open_reads: z.array(openReadSchema),
    held: z.object({ products: z.int(), quantities: z.int(), units: z.int() }),
    ...listEnd,
  }),
});

export function openReadsRoutes(reader: MirrorReader): ApiRouter {
  const app = apiRouter();
  app.openapi(openReads, async (c) => {
    const { kind, after = '', limit } = c.req.valid('query');
    const [{ reads, next }, held] = await Promise.all([
      reader.ask('openReads', { kind, after, limit }),
      reader.ask('heldRemovals'),
    ]);
    const rows = reads.map((read) => ({
      product_id: read.productId,
      product_name: read.name,
      since: read.sinceMs,
      missing: read.missing,
      quantities: read.quantities,
      units: read.units,
      skus: [...read.skus],
      failed_at: read.failedAtMs,
      last_error: read.lastError,
      attempts: read.attempts,
      retry_at: read.retryAtMs,
    }));
    return c.json({ open_reads: rows, held, ...endOf(next) }, 200);
  });
  return app;
}
