/** `GET /api/drift`, `GET /api/deliveries`: what reads corrected, and what arrived. */
import { createRoute, z } from '@hono/zod-openapi';
import { DRIFT_CAUSES } from '../../core/causes.ts';
import type { StoreReader } from '../../mirror/mirror.ts';
import { causeWords } from '../shared/words.ts';
import { flagParameter, limitParameter, listEnd, seqParameter } from './parameters.ts';
import { answers, apiRouter, withRefusals, type ApiRouter } from './router.ts';
import { changeSchema, instant } from './rows.ts';

const drift = createRoute({
  method: 'get',
  path: '/api/drift',
  operationId: 'drift',
  summary: 'Differences that reads found and corrected',
  description: `Newest first. \`reason\` is the probable cause: ${DRIFT_CAUSES.map((cause) => `${cause} (${causeWords(cause)})`).join(', ')}.`,
  request: {
    query: z.strictObject({
      reason: z
        .enum(DRIFT_CAUSES, `must be one of ${DRIFT_CAUSES.join(', ')}`)
        .optional()
        .openapi({ description: 'Only this cause.' }),
      after: seqParameter('The `next` of the previous page: older rows follow.').optional(),
      limit: limitParameter,
    }),
  },
  responses: withRefusals({
    200: answers('A page', z.object({ drift: z.array(changeSchema), ...listEnd })),
  }),
});

const deliverySchema = z
  .object({
    seq: z.int().meta({ description: 'Its row in the inbox.' }),
    arrived_at: instant,
    bytes: z.int(),
    request_id: z.string().nullable(),
    items: z
      .int()
      .nullable()
      .meta({ description: 'Items that were understood; null when the body is over 64 KB.' }),
    dead_letters: z
      .array(
        z.object({
          item_index: z.int().nullable(),
          problem: z.string(),
          variant_id: z.string().nullable(),
        }),
      )
      .meta({ description: 'The first items that were not understood.' }),
  })
  .openapi('Delivery');

const deliveries = createRoute({
  method: 'get',
  path: '/api/deliveries',
  operationId: 'deliveries',
  summary: 'Deliveries as they arrived',
  description:
    'Newest first, each body once. Requests without a correct signature are counted in the metrics, not stored.',
  request: {
    query: z.strictObject({
      dead_letters: flagParameter.optional().openapi({
        type: 'string',
        enum: ['0', '1'],
        description: '1: only deliveries with an item that was not understood.',
      }),
      after: seqParameter('The `next` of the previous page: older rows follow.').optional(),
      limit: limitParameter,
    }),
  },
  responses: withRefusals({
    200: answers('A page', z.object({ deliveries: z.array(deliverySchema), ...listEnd })),
  }),
});

const NEWEST = Number.MAX_SAFE_INTEGER;

export function historyRoutes(reader: StoreReader): ApiRouter {
  const app = apiRouter();
  app.openapi(drift, async (c) => {
    const { reason, after = NEWEST, limit } = c.req.valid('query');
    const reasons = reason === undefined ? DRIFT_CAUSES : [reason];
    const { rows, hasMore } = await reader.ask('driftBefore', { before: after, reasons, limit });
    const last = rows.at(-1);
    const next = hasMore && last !== undefined ? String(last.seq) : null;
    return c.json({ drift: [...rows], next, has_more: hasMore }, 200);
  });
  app.openapi(deliveries, async (c) => {
    const { dead_letters: deadLetters, after = null, limit } = c.req.valid('query');
    const page = await reader.ask('deliveryPage', {
      beforeSeq: after,
      limit,
      deadLettersOnly: deadLetters === 1,
    });
    const shown = page.deliveries.map(
      ({ seq, arrivedAtMs, bytes, requestId, items, itemCount, unreadable }) => ({
        seq,
        arrived_at: arrivedAtMs,
        bytes,
        request_id: requestId,
        items: items === null ? null : itemCount,
        dead_letters: unreadable.map(({ itemIndex, problem, variantId }) => ({
          item_index: itemIndex,
          problem,
          variant_id: variantId,
        })),
      }),
    );
    const next = page.next === null ? null : String(page.next);
    return c.json({ deliveries: shown, next, has_more: page.next !== null }, 200);
  });
  return app;
}
