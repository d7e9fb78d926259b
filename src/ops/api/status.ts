/** `GET /readyz`, `GET /api/status`. */
import { createRoute, z } from '@hono/zod-openapi';
import { ALARM_KINDS } from '../alarms/alarm.ts';
import { MIRROR_STATES } from '../../mirror/file/state.ts';
import type { OpsDeps } from '../shared/operator.ts';
import { viewBlocked } from '../shared/run-view.ts';
import { answers, apiRouter, withRefusals, type ApiRouter } from './router.ts';
import { epochSchema, instant, lastSeqSchema } from './rows.ts';

const state = z.enum(MIRROR_STATES).meta({
  description:
    'live: rows are current, except those marked `suspect`. catching_up: products are being re-read after downtime or a restored backup. stale: the mirror does not run, a re-read request has been waiting for over 15 minutes, or more products cannot be read than single faults explain.',
});

export const statusSchema = z
  .object({
    epoch: epochSchema,
    schema_version: z.int(),
    state,
    last_delivery_at: instant.nullable(),
    last_full_sync_at: instant.nullable(),
    oldest_verified_at: instant.nullable(),
    pending_reads: z.int(),
    suspect_count: z.int().meta({ description: 'Stock rows marked suspect.' }),
    open_gaps: z.int(),
    last_seq: lastSeqSchema,
    entries_behind: z
      .int()
      .meta({ description: 'Entries of the event log that the tables do not hold yet.' }),
    behind_since: instant
      .nullable()
      .meta({ description: 'When the first of them came; null: there is none.' }),
    alive_at: instant.nullable(),
    products: z.int(),
    variants: z.int(),
    cells: z.int().meta({ description: 'Stock rows: one for each stock level.' }),
    parked_reads: z
      .int()
      .meta({ description: 'Products whose reads the store refuses, or that failed repeatedly.' }),
    failing_reads: z.int().meta({ description: 'Products whose last read failed, parked ones included.' }),
    last_read_error: z.string().nullable(),
    held_removals: z.int().meta({
      description:
        'Products, variants and stock levels that the mass-removal guard keeps until the operator allows their removal.',
    }),
    held_variants: z.int().meta({ description: 'Of these: variants whose product stays.' }),
    held_levels: z.int().meta({ description: 'Of these: stock levels whose variant stays.' }),
    quarantined: z.int().meta({ description: 'Dead letters: deliveries or items that were not understood.' }),
    reads_under_way: z.int(),
    blocked: z
      .object({
        kind: z.string(),
        message: z.string(),
        until: instant
          .nullable()
          .meta({ description: 'When requests resume; null: when an operator decides.' }),
      })
      .nullable()
      .meta({ description: 'Why no request is sent to the store at present; null: requests are sent.' }),
    alarms: z
      .array(
        z.object({
          kind: z.enum(ALARM_KINDS),
          since: instant,
          message: z
            .string()
            .meta({ description: 'What is wrong, what it means for the figures, and what to do.' }),
        }),
      )
      .meta({ description: 'What an operator should look at.' }),
  })
  .openapi('Status');

const readyz = createRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'ready',
  summary: 'Whether the mirror is live',
  responses: withRefusals({
    200: answers('The mirror is live', z.object({ state })),
    503: answers('The mirror is not live', z.object({ state })),
  }),
});

const status = createRoute({
  method: 'get',
  path: '/api/status',
  operationId: 'status',
  summary: 'The state of the mirror',
  description:
    'When counting takes long, as in a very large mirror after downtime, the counts are a few moments old.',
  request: { query: z.strictObject({}) },
  responses: withRefusals({ 200: answers('The state as it is now', statusSchema) }),
});

export function statusRoutes({
  reader,
  state: source,
  operator,
  alarms,
}: Pick<OpsDeps, 'reader' | 'state' | 'operator' | 'alarms'>): ApiRouter {
  const app = apiRouter();
  app.openapi(readyz, async (c) => {
    // What cannot be read is not live.
    const state = await reader.ask('glance').then(
      (glance) => glance.state,
      () => 'stale' as const,
    );
    return state === 'live' ? c.json({ state }, 200) : c.json({ state }, 503);
  });
  app.openapi(status, async (c) => {
    const { readsUnderWay, blocked } = operator;
    const behind = await reader.ask('lag');
    return c.json(
      {
        ...(await source.status()),
        entries_behind: behind.entries,
        behind_since: behind.sinceMs,
        reads_under_way: readsUnderWay,
        blocked: viewBlocked(blocked),
        alarms: [...alarms.current],
      },
      200,
    );
  });
  return app;
}
