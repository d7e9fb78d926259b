import { createRoute, z } from '@hono/zod-openapi';
import { MIRROR_STATES } from '../../mirror/file/state.ts';
import { causeShape } from '../shared/shapes.ts';
import { firstCause } from '../state/state.ts';
import { SqliteFault } from '../../sqlite/errors.ts';
import type { OpsDeps } from '../shared/operator.ts';
import { answers, apiRouter, reading, withRefusals, type ApiRouter } from './router.ts';
import { epochSchema, instantOrNull, lastSeqSchema } from './rows.ts';

const state = z.enum(MIRROR_STATES).meta({
  description:
    'stale: a critical cause holds, and no value is trusted. catching_up: products are read after a ' +
    'start, downtime or a restored backup, or, with the cause `unproven`, no webhook has been ' +
    'accepted yet and no value is trusted. live: rows are current, except those marked `suspect`.',
});

const causeSchema = z.object(causeShape).openapi('Cause');

const count = (description: string) => z.int().meta({ description });

const countsSchema = z.object({
  epoch: epochSchema,
  schema_version: z.int(),
  state_cause: z
    .string()
    .nullable()
    .meta({ description: 'The code of the first cause of the state; null: the mirror is live.' }),
  last_delivery_at: instantOrNull,
  last_accepted_at: instantOrNull.meta({
    description: 'When a webhook of the store was last accepted, without those of `stock-mirror send`.',
  }),
  last_full_sync_at: instantOrNull,
  oldest_verified_at: instantOrNull,
  pending_reads: count('Products waiting to be read, without `pending_removals` and `held_removals`.'),
  sellable: z
    .object({
      total: count('All of them.'),
      trusted: z
        .int()
        .nullable()
        .meta({ description: 'Those with `trusted = 1`; null: more than 10000 are not.' }),
    })
    .meta({ description: 'Quantities that a program may sell: the rows of mirror_sellable.' }),
  last_full_read: z
    .object({
      run_id: z.int(),
      finished_at: z.int(),
      took_ms: z.int(),
      products: count('Products whose every value was compared with the store’s.'),
      differences: count(
        'Values that differed and were corrected, those of bundles after a component included.',
      ),
      failed: count('Products that could not be read.'),
    })
    .nullable()
    .meta({ description: 'The last run that read every product; null: none yet, or it is pruned.' }),
  suspect_count: z
    .int()
    .nullable()
    .meta({
      description:
        'Rows of mirror_sellable that are not trusted for a reason of their own, whatever the state; null: ' +
        'more than 10000.',
    }),
  open_gaps: count('Gaps that wait for a late delivery or a read.'),
  last_seq: lastSeqSchema,
  deliveries_behind: count('Deliveries in the inbox that are not applied yet.'),
  behind_since: instantOrNull.meta({ description: 'When the first of them arrived; null: there is none.' }),
  alive_at: instantOrNull,
  pruned_change_seq: count('The highest change number that was pruned; 0: none.'),
  products: z.int(),
  variants: z.int(),
  levels: count('Stock rows: one for each stock level.'),
  parked_reads: count('Products whose reads the store refuses, or that failed repeatedly.'),
  failing_reads: count('Products whose last read failed, parked ones included.'),
  last_read_error: z.string().nullable(),
  held_removals: count('Products that the mass-removal guard keeps, whole or in part.'),
  pending_removals: count(
    'Products of which reads no longer show something: another read or a list of the catalogue must confirm it.',
  ),
  searched_variants: count(
    'Variants that webhooks have named and no product shows: the catalogue is searched.',
  ),
  dead_letters: count('Deliveries or items that were not understood.'),
  reads_under_way: z.int(),
});

const statusSchema = z
  .object({
    state,
    causes: z.array(causeSchema).meta({ description: 'Most urgent first.' }),
    database: z.string().meta({ description: 'The file of this mirror.' }),
    lock_id: z
      .string()
      .nullable()
      .meta({ description: 'Device and inode of its lock: commands compare them with those of their file.' }),
  })
  .extend(countsSchema.partial().shape)
  .openapi('Status');

const readyz = createRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'ready',
  summary: 'Whether the mirror is live',
  security: [],
  request: { query: z.strictObject({}) },
  responses: withRefusals({
    200: answers('The mirror is live', z.object({ state })),
    503: answers('The mirror is not live', z.object({ state })),
  }),
});

const status = reading('/api/status', {
  operationId: 'status',
  summary: 'The state of the mirror',
  description:
    'When counting takes long, as in a very large mirror after downtime, the counts are those of the ' +
    'last sample. They are missing while the mirror cannot be read.',
  query: {},
  answer: statusSchema,
});

type StatusDeps = Pick<OpsDeps, 'reader' | 'state' | 'operator' | 'watch' | 'database'>;

export function statusRoutes({ reader, state: source, operator, watch, database }: StatusDeps): ApiRouter {
  const app = apiRouter();
  const counts = () =>
    source.status().catch((error: unknown) => {
      if (error instanceof SqliteFault) return error;
      throw error;
    });
  app.openapi(readyz, async (c) => {
    const { state } = await watch.shown();
    return state === 'live' ? c.json({ state }, 200) : c.json({ state }, 503);
  });
  app.openapi(status, async (c) => {
    const [counted, behind] = await Promise.all([counts(), reader.ask('lag').catch(() => null)]);
    const { state, causes } = watch.shownIn(counted instanceof SqliteFault ? counted : counted.causes);
    const shown = {
      state,
      causes: [...causes],
      database: database.path,
      lock_id: database.lockId,
      reads_under_way: operator.readsUnderWay,
    };
    if (counted instanceof SqliteFault || behind === null) return c.json(shown, 200);
    return c.json(
      {
        ...counted,
        ...shown,
        state_cause: firstCause({ state, causes }),
        deliveries_behind: behind.deliveries,
        behind_since: behind.sinceMs,
      },
      200,
    );
  });
  return app;
}
