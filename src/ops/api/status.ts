import { createRoute, z } from '@hono/zod-openapi';
import { MIRROR_STATES } from '../../mirror/file/state.ts';
import { causeShape, countsShape } from '../shared/shapes.ts';
import { firstCause } from '../state/state.ts';
import { SqliteFault } from '../../sqlite/errors.ts';
import type { OpsDeps } from '../shared/operator.ts';
import { answers, apiRouter, reading, withRefusals, type ApiRouter } from './router.ts';

const state = z.enum(MIRROR_STATES).meta({
  description:
    'stale: a critical cause holds, and no value is trusted. catching_up: products are read after a ' +
    'start, downtime or a restored backup, or, with the cause `unproven`, no webhook has been ' +
    'accepted yet and no value is trusted. live: rows are current, except those marked `suspect`.',
});

const causeSchema = z.object(causeShape).openapi('Cause');

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
  .extend(z.object(countsShape).partial().shape)
  .extend({ reads_under_way: z.int() })
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

export function statusRoutes({ reader, state: source, operator, watch, database }: OpsDeps): ApiRouter {
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
