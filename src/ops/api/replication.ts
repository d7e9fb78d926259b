/** `GET /api/replication`: how this process stands to the others that share its event log. */
import { createRoute, z } from '@hono/zod-openapi';
import type { ReplicationView } from '../condition/replication.ts';
import { errorBody } from '../shared/api-error.ts';
import { answers, apiRouter, NOT_FOUND, withRefusals, type ApiRouter } from './router.ts';

const milliseconds = z.number().meta({ description: 'Milliseconds.' });
const isUpToDate = z.boolean().meta({ description: 'It had everything within the last 3 s.' });
const trouble = z.string().nullable().meta({ description: 'Why it does not work; null: it does.' });

const replicationSchema = z
  .object({
    name: z.string().meta({ description: 'The name of this process among the others.' }),
    origin: z.string().meta({ description: 'The engine or the primary: an address, without secrets.' }),
    receiver: z
      .object({
        backlog: z.int().meta({ description: 'Deliveries that are answered and not yet forwarded.' }),
        backlog_age_ms: milliseconds,
        trouble,
      })
      .nullable()
      .meta({ description: 'Null: this process takes no webhooks.' }),
    replica: z
      .object({
        left: z.int().meta({ description: 'Entries in the source that are not here yet.' }),
        behind_ms: milliseconds.nullable().meta({
          description: 'Milliseconds since the replica last had everything; null: not since its start.',
        }),
        is_up_to_date: isUpToDate,
        trouble,
        trouble_ms: milliseconds
          .nullable()
          .meta({ description: 'Milliseconds since the trouble began; null: none.' }),
      })
      .nullable()
      .meta({ description: 'Null: this process keeps no mirror at present.' }),
    lead: z
      .object({ is_leading: z.boolean() })
      .nullable()
      .meta({ description: 'Null: this process never reads from the store.' }),
    members: z
      .object({
        receivers: z.array(z.object({ name: z.string(), backlog: z.int(), backlog_age_ms: milliseconds })),
        replicas: z.array(
          z.object({
            name: z.string(),
            last_seq: z.int().meta({ description: 'The last entry of its event log.' }),
            is_up_to_date: isUpToDate,
            is_leading: z.boolean(),
          }),
        ),
      })
      .meta({ description: 'Processes that announced themselves within 10 s, this one included.' }),
  })
  .openapi('Replication');

const replication = createRoute({
  method: 'get',
  path: '/api/replication',
  operationId: 'replication',
  summary: 'The machines that share the event log',
  request: { query: z.strictObject({}) },
  responses: withRefusals({
    200: answers('This process, and the others', replicationSchema),
    404: NOT_FOUND,
  }),
});

/** @param view null: the event log is this machine's own. */
export function replicationRoutes(view: () => ReplicationView | null): ApiRouter {
  const app = apiRouter();
  app.openapi(replication, (c) => {
    const found = view();
    if (found === null)
      return c.json(errorBody('not_found', 'this mirror does not share its event log'), 404);
    const { members, ...rest } = found;
    return c.json(
      { ...rest, members: { receivers: [...members.receivers], replicas: [...members.replicas] } },
      200,
    );
  });
  return app;
}
