import { createRoute, z } from '@hono/zod-openapi';
import { idSchema } from '../../store-api/contract/schemas.ts';
import { countDifferences, type Run } from '../../core/runs.ts';
import { mayAllowRemovals } from '../access/sign-in.ts';
import { errorBody } from '../shared/error-body.ts';
import { errorSchema } from '../shared/error-schema.ts';
import type { OpsDeps } from '../shared/operator.ts';
import { decisionSchema, runShape } from '../shared/shapes.ts';
import {
  answers,
  apiRouter,
  endOf,
  listEnd,
  newestFirst,
  NOT_FOUND,
  reading,
  withRefusals,
  type ApiRouter,
} from './router.ts';

const runSchema = z.object(runShape).openapi('Run');

const list = reading('/api/runs', {
  operationId: 'runs',
  summary: 'Runs: reads of the whole catalogue or of named products',
  description: 'Newest first. A run of named products also fails if the store has no product of an id.',
  query: newestFirst,
  answer: z.object({ runs: z.array(runSchema), ...listEnd }),
});

const request = {
  params: z.object({
    id: z.string().openapi({ type: 'integer', minimum: 1, description: 'The `run_id`.' }),
  }),
  query: z.strictObject({}),
};

const one = createRoute({
  method: 'get',
  path: '/api/runs/{id}',
  operationId: 'run',
  summary: 'One run',
  request,
  responses: withRefusals({ 200: answers('The run as it is now', runSchema), 404: NOT_FOUND }),
});

const resync = createRoute({
  method: 'post',
  path: '/api/resync',
  operationId: 'resync',
  summary: 'Reads the whole catalogue again, or named products',
  description:
    'A request for the whole catalogue joins an equally urgent run that is under way, and returns it with `joined`: true. ' +
    'The joined run does not repeat earlier reads. To compare every product as of now, ' +
    'request another run after its end.',
  request: {
    query: request.query,
    body: {
      required: true,
      content: {
        'application/json': {
          schema: z.strictObject({
            product_ids: z
              .array(idSchema)
              .min(1)
              .max(10_000)
              .optional()
              .openapi({ description: 'Reads only these products; without it, the whole catalogue.' }),
            allow_removals: decisionSchema.optional().meta({
              description:
                'Removes what the store no longer shows of the products in `product_ids`; without it, of all products ' +
                'whose removal the mass-removal guard holds back.',
            }),
          }),
        },
      },
    },
  },
  responses: withRefusals({
    202: answers(
      'The run has begun: see its progress at /api/runs/{run_id}',
      z.object({
        run_id: z.int(),
        joined: z.boolean().openapi({ description: 'True: the run was already under way.' }),
      }),
    ),
    413: answers('The body is over 1 MB', errorSchema),
  }),
});

export function runsRoutes({ reader, operator, token }: OpsDeps): ApiRouter {
  const app = apiRouter();
  app.openapi(list, async (c) => {
    const { after: before = Number.MAX_SAFE_INTEGER, limit } = c.req.valid('query');
    const found = await reader.ask('latestRuns', { limit: limit + 1, before });
    const shown = found.slice(0, limit);
    return c.json(
      { runs: shown.map(viewRun), ...endOf(found.length > limit ? shown.at(-1)?.id : null) },
      200,
    );
  });

  app.openapi(one, async (c) => {
    const { id } = c.req.valid('param');
    const run = /^[0-9]{1,15}$/.test(id) ? await reader.ask('runById', { id: Number(id) }) : null;
    if (run === null) return c.json(errorBody('not_found', `there is no run ${id}`), 404);
    return c.json(viewRun(run), 200);
  });

  app.openapi(resync, async (c) => {
    const { product_ids: productIds = null, allow_removals: decision = null } = c.req.valid('json');
    if (decision !== null && !mayAllowRemovals(c.get('signedInBy'), { typed: '', token })) {
      return c.json(errorBody('access_denied', 'allow_removals needs OPS_TOKEN as a bearer token'), 403);
    }
    const { id, joined } = await operator.resync(productIds, decision);
    return c.json({ run_id: id, joined }, 202);
  });
  return app;
}

function viewRun(run: Run) {
  return {
    run_id: run.id,
    kind: run.kind,
    state: run.state,
    started_at: run.startedAtMs,
    finished_at: run.finishedAtMs,
    total: run.total,
    done: run.done,
    compared: run.compared,
    drift: countDifferences(run.differences),
    drift_by_reason: run.differences,
    removed: run.removed,
    allowed_by: run.allowedBy,
    allowed_why: run.allowedWhy,
    failed: run.failed,
    list_gap: run.listGap,
    error: run.error,
  };
}
