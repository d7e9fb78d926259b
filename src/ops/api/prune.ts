/** `POST /api/prune`. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Pruner } from '../../store/retention.ts';
import { answers, apiRouter, withRefusals, TOO_LARGE, type ApiRouter } from './router.ts';

const prune = createRoute({
  method: 'post',
  path: '/api/prune',
  operationId: 'prune',
  summary: 'Deletes old deliveries, changes and runs now',
  description:
    'The server does the same by itself, at its start and every hour. It deletes for about a second, a little at a time, so that no webhook waits; while `complete` is false, ask again. Stock, variants and products are never deleted. Who follows the changes and has not seen those deleted must start over.',
  request: {
    body: {
      required: true,
      content: {
        'application/json': {
          schema: z.strictObject({
            days: z.int().min(1).max(3_650).optional().openapi({
              description: 'What is older than so many days; without it, than RETENTION_DAYS.',
            }),
          }),
        },
      },
    },
  },
  responses: withRefusals({
    200: answers(
      'So many rows were deleted',
      z.object({
        days: z.int(),
        log: z.int().meta({ description: 'Deliveries and reads.' }),
        changes: z.int(),
        quarantine: z.int().meta({ description: 'What was not understood of deliveries.' }),
        runs: z.int(),
        complete: z.boolean().meta({ description: 'False: there is more, ask again.' }),
      }),
    ),

    413: TOO_LARGE,
  }),
});

export function pruneRoutes(pruner: Pruner): ApiRouter {
  const app = apiRouter();
  app.openapi(prune, async (c) => {
    const { days = null } = c.req.valid('json');
    return c.json(await pruner.prune(days), 200);
  });
  return app;
}
