/** `GET /api/drift`, `GET /api/deliveries`: what reads corrected, and what arrived. */
import { createRoute, z } from '@hono/zod-openapi';
import { DRIFT_CAUSES } from '../../core/causes.ts';
import type { StoreReader } from '../../mirror/reader/store-reader.ts';
import { causeWords } from '../shared/words.ts';
import { flagParameter, limitParameter, listEnd, seqParameter, wholeNumber } from './parameters.ts';
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
    log_seq: z.int().meta({ description: 'Its position in the event log.' }),
    arrived_at: instant,
    bytes: z.int(),
    request_id: z.string().nullable(),
    items: z.int().nullable().meta({
      description:
        'Items that were understood. Null, like everything else from the body, when the body is over 64 KB.',
    }),
    latest_update_time: instant
      .nullable()
      .meta({ description: 'The latest `update_time` of its items, by the store’s clock.' }),
    problems: z
      .array(
        z.object({
          item_index: z.int().nullable(),
          problem: z.string(),
          variant_id: z.string().nullable(),
        }),
      )
      .meta({ description: 'The items that were not understood.' }),
  })
  .openapi('Delivery');

const MAX_DELAY_MS = 30 * 24 * 60 * 60_000;

const deliveries = createRoute({
  method: 'get',
  path: '/api/deliveries',
  operationId: 'deliveries',
  summary: 'Deliveries as they arrived',
  description:
    'Newest first, each body once. A page may hold fewer rows than `limit`, even none, while `has_more` is true. Requests without a correct signature are counted in the metrics, not stored.',
  request: {
    query: z.strictObject({
      quarantined: flagParameter.optional().openapi({
        type: 'string',
        enum: ['0', '1'],
        description: '1: only deliveries with an item that was not understood.',
      }),
      min_delay_ms: wholeNumber(
        0,
        MAX_DELAY_MS,
        'Only deliveries whose latest change was at least this old on arrival. The figure compares two clocks.',
      ).optional(),
      after: z
        .string()
        .regex(/^[0-9]{1,15}:[0-9]{1,15}$/, 'must be the `next` of the previous page')
        .optional()
        .openapi({ description: 'The `next` of the previous page: older rows follow.' }),
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
    const { quarantined, min_delay_ms: minDelayMs = null, after, limit } = c.req.valid('query');
    const [logSeq = NEWEST, deadLetterId = NEWEST] = after?.split(':').map(Number) ?? [];
    const { rows, last, hasMore } = await reader.ask('deliveriesBefore', {
      before: { logSeq, deadLetterId },
      limit,
      deadLettersOnly: quarantined === 1,
      minDelayMs,
    });
    const next = hasMore && last !== null ? `${last.logSeq}:${last.deadLetterId}` : null;
    const shown = rows.map(({ problems, ...row }) => ({ ...row, problems: [...problems] }));
    return c.json({ deliveries: shown, next, has_more: hasMore }, 200);
  });
  return app;
}
