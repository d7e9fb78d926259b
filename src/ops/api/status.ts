/** `GET /readyz`, `GET /api/status`. */
import { createRoute, z } from '@hono/zod-openapi';
import { ALARM_KINDS } from '../alarms/alarm.ts';
import type { OpsDeps } from '../operator.ts';
import { answers, apiRouter, withRefusals, type ApiRouter } from './router.ts';
import { epochSchema, instant, lastSeqSchema } from './rows.ts';

const state = z.enum(['live', 'catching_up', 'stale']).meta({
  description:
    'live: every row is as sure as its `suspect` says. catching_up: products are read that nobody listened for. stale: a doubt has waited for its read for over 15 minutes.',
});

const statusSchema = z
  .object({
    epoch: epochSchema,
    schema_version: z.int(),
    state,
    last_delivery_at: instant.nullable(),
    last_full_sync_at: instant.nullable(),
    oldest_verified_at: instant.nullable(),
    pending_reads: z.int(),
    suspect_count: z.int().meta({ description: 'Rows of stock under suspicion.' }),
    open_gaps: z.int(),
    last_seq: lastSeqSchema,
    alive_at: instant.nullable(),
    products: z.int(),
    variants: z.int(),
    cells: z.int().meta({ description: 'Rows of stock.' }),
    parked_reads: z.int().meta({ description: 'Products whose reads are refused, or failed over and over.' }),
    failing_reads: z
      .int()
      .meta({ description: 'Products whose last read failed, the parked ones among them.' }),
    last_read_error: z.string().nullable(),
    held_removals: z.int().meta({ description: 'Products whose removal waits for the operator’s leave.' }),
    quarantined: z.int().meta({ description: 'Deliveries, or items of them, that were not understood.' }),
    reads_under_way: z.int(),
    blocked: z
      .object({
        kind: z.string(),
        message: z.string(),
        until: instant
          .nullable()
          .meta({ description: 'When it is asked again; null: when a person says so.' }),
      })
      .nullable()
      .meta({ description: 'Why the service is not asked at present; null when it is.' }),
    alarms: z
      .array(
        z.object({
          kind: z.enum(ALARM_KINDS),
          since: instant,
          message: z.string().meta({ description: 'What is the matter, and what to do.' }),
        }),
      )
      .meta({ description: 'What needs a person.' }),
  })
  .openapi('Status');

const readyz = createRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'ready',
  summary: 'Whether the mirror is live',
  responses: withRefusals({
    200: answers('It is', z.object({ state })),
    503: answers('It is not', z.object({ state })),
  }),
});

const status = createRoute({
  method: 'get',
  path: '/api/status',
  operationId: 'status',
  summary: 'The state of the mirror',
  description:
    'While counting takes long, as after a downtime of a very large mirror, the counts are those of a moment ago.',
  request: { query: z.strictObject({}) },
  responses: withRefusals({ 200: answers('As it is now', statusSchema) }),
});

export function statusRoutes({
  reader,
  state: source,
  operator,
  alarms,
}: Pick<OpsDeps, 'reader' | 'state' | 'operator' | 'alarms'>): ApiRouter {
  const app = apiRouter();
  app.openapi(readyz, async (c) => {
    const { state } = await reader.ask('glance');
    return state === 'live' ? c.json({ state }, 200) : c.json({ state }, 503);
  });
  app.openapi(status, async (c) => {
    const { readsUnderWay, blocked } = operator;
    return c.json(
      {
        ...(await source.status()),
        reads_under_way: readsUnderWay,
        blocked: blocked && { kind: blocked.kind, message: blocked.message, until: blocked.untilMs },
        alarms: [...alarms.current],
      },
      200,
    );
  });
  return app;
}
