import { z } from '@hono/zod-openapi';
import { DRIFT_REASONS } from '../../core/drift-reasons.ts';
import type { OpsDeps } from '../shared/operator.ts';
import { instant } from '../shared/shapes.ts';
import { readReasonWords } from '../shared/words.ts';
import { apiRouter, endOf, flagParameter, listEnd, newestFirst, reading, type ApiRouter } from './router.ts';
import { changeSchema } from './rows.ts';

const EXPLAINED_REASONS = DRIFT_REASONS.map((reason) => `${reason} (${readReasonWords(reason)})`).join(', ');

const drift = reading('/api/drift', {
  operationId: 'drift',
  summary: 'Differences that reads found and corrected',
  description: `Newest first. \`reason\` says how each probably arose: ${EXPLAINED_REASONS}.`,
  query: {
    reason: z
      .enum(DRIFT_REASONS, `must be one of ${DRIFT_REASONS.join(', ')}`)
      .optional()
      .openapi({ description: 'Only this reason.' }),
    ...newestFirst,
  },
  answer: z.object({ drift: z.array(changeSchema).readonly(), ...listEnd }),
});

const deadLetterSchema = z.object({
  item_index: z.int().nullable(),
  problem: z.string(),
  variant_id: z.string().nullable(),
});

const deliverySchema = z
  .object({
    seq: z.int().meta({ description: 'Its row in the inbox.' }),
    arrived_at: instant,
    bytes: z.int(),
    request_id: z.string().nullable().meta({ description: 'Also null when the body is over 64 KB.' }),
    items: z
      .int()
      .nullable()
      .meta({ description: 'Items that were understood; null when the body is over 64 KB.' }),
    dead_letters: z
      .array(deadLetterSchema)
      .meta({ description: 'The first items that were not understood; empty over 64 KB: see the log.' }),
  })
  .openapi('Delivery');

const deliveries = reading('/api/deliveries', {
  operationId: 'deliveries',
  summary: 'Deliveries as they arrived',
  description:
    'Newest first, each body once. Requests without a correct signature are counted in the metrics, not stored.',
  query: {
    dead_letters: flagParameter('1: only deliveries with an item that was not understood.'),
    ...newestFirst,
  },
  answer: z.object({ deliveries: z.array(deliverySchema), ...listEnd }),
});

const NEWEST = Number.MAX_SAFE_INTEGER;

export function historyRoutes({ reader }: OpsDeps): ApiRouter {
  const app = apiRouter();
  app.openapi(drift, async (c) => {
    const { reason, after: before = NEWEST, limit } = c.req.valid('query');
    const reasons = reason === undefined ? DRIFT_REASONS : [reason];
    const { rows, hasMore } = await reader.ask('driftBefore', { before, reasons, limit });
    return c.json({ drift: rows, ...endOf(hasMore ? rows.at(-1)?.seq : null) }, 200);
  });
  app.openapi(deliveries, async (c) => {
    const { dead_letters: deadLettersOnly = false, after: beforeSeq = null, limit } = c.req.valid('query');
    const page = await reader.ask('deliveryPage', { beforeSeq, limit, deadLettersOnly });
    const rows = page.deliveries.map((found) => ({
      seq: found.seq,
      arrived_at: found.arrivedAtMs,
      bytes: found.bytes,
      request_id: found.requestId,
      items: found.items === null ? null : found.itemCount,
      dead_letters: found.unreadable.map(({ itemIndex, problem, variantId }) => ({
        item_index: itemIndex,
        problem,
        variant_id: variantId,
      })),
    }));
    return c.json({ deliveries: rows, ...endOf(page.next) }, 200);
  });
  return app;
}
