/** `GET /readyz`, `GET /api/status`. */
import { createRoute, z } from '@hono/zod-openapi';
import { MIRROR_STATES, STATE_CAUSES } from '../../mirror/file/state.ts';
import { CAUSE_CODES, OWNERS, SEVERITIES } from '../state/causes.ts';
import { StoreError } from '../../sqlite/errors.ts';
import type { OpsDeps } from '../shared/operator.ts';
import { answers, apiRouter, withRefusals, type ApiRouter } from './router.ts';
import { epochSchema, instant, lastSeqSchema } from './rows.ts';

const state = z.enum(MIRROR_STATES).meta({
  description:
    'stale: a critical cause holds, and values may be wrong or stand still. catching_up: products are read after a start, downtime or a restored backup. live: rows are current, except those marked `suspect`.',
});

export const causeSchema = z
  .object({
    code: z.enum(CAUSE_CODES),
    severity: z.enum(SEVERITIES).meta({
      description:
        'critical: values may be wrong or stand still. warning: values that are not suspect stay right.',
    }),
    since: instant.nullable(),
    owner: z
      .enum(OWNERS)
      .meta({ description: 'Who can end it; `host` is this machine, or another program on it.' }),
    message: z.string().meta({ description: 'What is wrong, and what it means for the values.' }),
    remedy: z.string(),
  })
  .openapi('Cause');

export const stateSchema = z.object({
  state,
  causes: z.array(causeSchema).meta({ description: 'Most urgent first.' }),
});

const countsSchema = z.object({
  epoch: epochSchema,
  schema_version: z.int(),
  state_cause: z.enum(STATE_CAUSES).nullable().meta({
    description: 'The most urgent cause that the file shows, as in SQL; null: none.',
  }),
  last_delivery_at: instant.nullable(),
  last_full_sync_at: instant.nullable(),
  oldest_verified_at: instant.nullable(),
  pending_reads: z.int(),
  suspect_count: z.int().meta({ description: 'Stock rows marked suspect.' }),
  open_gaps: z.int(),
  last_seq: lastSeqSchema,
  deliveries_behind: z.int().meta({ description: 'Deliveries in the inbox that are not applied yet.' }),
  behind_since: instant
    .nullable()
    .meta({ description: 'When the first of them arrived; null: there is none.' }),
  alive_at: instant.nullable(),
  products: z.int(),
  variants: z.int(),
  levels: z.int().meta({ description: 'Stock rows: one for each stock level.' }),
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
  dead_letters: z.int().meta({ description: 'Dead letters: deliveries or items that were not understood.' }),
  reads_under_way: z.int(),
});

export const statusSchema = stateSchema.extend(countsSchema.partial().shape).openapi('Status');

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
    'When counting takes long, as in a very large mirror after downtime, the counts are a few moments old. They are missing while the mirror cannot be read.',
  request: { query: z.strictObject({}) },
  responses: withRefusals({ 200: answers('The state as it is now', statusSchema) }),
});

type StatusDeps = Pick<OpsDeps, 'reader' | 'state' | 'operator' | 'watch'>;

export function statusRoutes({ reader, state: source, operator, watch }: StatusDeps): ApiRouter {
  const app = apiRouter();
  const counts = () =>
    source.status().catch((error: unknown) => {
      if (error instanceof StoreError) return error;
      throw error;
    });
  app.openapi(readyz, async (c) => {
    const { state } = watch.of(await counts());
    return state === 'live' ? c.json({ state }, 200) : c.json({ state }, 503);
  });
  app.openapi(status, async (c) => {
    const [counted, behind] = await Promise.all([counts(), reader.ask('lag').catch(() => null)]);
    const { state, causes } = watch.of(counted);
    const shown = { state, causes: [...causes], reads_under_way: operator.readsUnderWay };
    if (counted instanceof StoreError || behind === null) return c.json(shown, 200);
    return c.json(
      { ...counted, ...shown, deliveries_behind: behind.deliveries, behind_since: behind.sinceMs },
      200,
    );
  });
  return app;
}
