/** `GET /readyz`, `GET /api/status`. */
import { createRoute, z } from '@hono/zod-openapi';
import { ALARM_KINDS } from '../alarms/alarm.ts';
import { CAUSE_KINDS, OWNERS } from '../condition/cause.ts';
import { CONDITIONS } from '../condition/condition.ts';
import { currentCondition } from '../shared/current-condition.ts';
import { MIRROR_STATES, STATE_CAUSES } from '../../mirror/file/state.ts';
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
    state_cause: z.enum(STATE_CAUSES).nullable().meta({
      description: 'What speaks against `live`, the gravest only; null: nothing does.',
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
    dead_letters: z
      .int()
      .meta({ description: 'Dead letters: deliveries or items that were not understood.' }),
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
    condition: z.enum(CONDITIONS).meta({
      description:
        'The state in one look. blocked: figures cannot be kept right, and the first of `causes` says why. catching_up: as the state of that name. repairing: live, but more than 1 % of the stock levels are uncertain. live: rows are current, except the few marked `suspect`.',
    }),
    headline: z.string().meta({ description: 'The condition in a sentence.' }),
    causes: z
      .array(
        z.object({
          kind: z.enum(CAUSE_KINDS),
          owner: z
            .enum(OWNERS)
            .meta({ description: 'Who can end it; `host` is this machine, or another program on it.' }),
          cause: z.string(),
          figures: z.string().meta({ description: 'What it means for the figures.' }),
          remedy: z.string(),
          since: instant.nullable(),
          until: instant
            .nullable()
            .meta({ description: 'When the mirror tries again by itself; null: not known, or never.' }),
        }),
      )
      .meta({ description: 'What blocks the mirror, or deserves a look; the most urgent first.' }),
    certain_levels: z.int().meta({ description: 'Stock levels that are not suspect.' }),
    certain_share: z.number().nullable().meta({
      description:
        'Their share of all stock levels, from 0 to 1, rounded down. Null: it cannot be said, because the first read is not finished, or because no row follows the store at present.',
    }),
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
  now,
}: Pick<OpsDeps, 'reader' | 'state' | 'operator' | 'alarms' | 'now'>): ApiRouter {
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
    const nowMs = now();
    const [behind, figures] = await Promise.all([reader.ask('lag'), source.status()]);
    const condition = currentCondition({ status: figures, operator, alarms, nowMs });
    return c.json(
      {
        ...figures,
        condition: condition.name,
        headline: condition.headline,
        causes: [...condition.causes],
        certain_levels: condition.certainty.certain,
        certain_share: condition.certainty.share,
        deliveries_behind: behind.deliveries,
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
