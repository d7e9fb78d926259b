/** `POST /api/prune`. */
import { createRoute, z } from '@hono/zod-openapi';
import type { OpsDeps } from '../shared/operator.ts';
import { unlessStuck } from '../shared/unless-stuck.ts';
import { answers, apiRouter, withRefusals, TOO_LARGE, type ApiRouter } from './router.ts';

const prune = createRoute({
  method: 'post',
  path: '/api/prune',
  operationId: 'prune',
  summary: 'Deletes old deliveries, changes and runs now',
  description:
    'The mirror does the same by itself, at start and every hour. A request deletes for about a second, in small steps, so that no webhook has to wait; while `complete` is false, ask again. Stock, variants and products are never deleted. A consumer of the change feed that has not read the deleted changes must start over.',
  request: {
    body: {
      required: true,
      content: {
        'application/json': {
          schema: z.strictObject({
            days: z.int().min(1).max(3_650).optional().openapi({
              description:
                'Deletes what is older than this many days; without it, older than RETENTION_DAYS.',
            }),
          }),
        },
      },
    },
  },
  responses: withRefusals({
    200: answers(
      'The number of rows deleted',
      z.object({
        days: z.int(),
        log: z.int().meta({ description: 'Entries of the event log: deliveries and reads.' }),
        changes: z.int(),
        quarantine: z.int().meta({ description: 'Dead letters: authentic input that was not understood.' }),
        runs: z.int(),
        complete: z.boolean().meta({ description: 'False: more is left to delete; ask again.' }),
      }),
    ),

    413: TOO_LARGE,
  }),
});

export function pruneRoutes({ pruner, writer }: Pick<OpsDeps, 'pruner' | 'writer'>): ApiRouter {
  const app = apiRouter();
  app.openapi(prune, async (c) => {
    const { days = null } = c.req.valid('json');
    return c.json(await unlessStuck(pruner.prune(days), writer), 200);
  });
  return app;
}
