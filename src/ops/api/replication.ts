/** `GET /api/replication`: how this process stands to the others that share its event log. */
import { createRoute, z } from '@hono/zod-openapi';
import type { ReplicationView } from '../condition/replication.ts';
import { errorBody } from '../shared/api-error.ts';
import { answers, apiRouter, NOT_FOUND, withRefusals, type ApiRouter } from './router.ts';

const milliseconds = z.number().meta({ description: 'Milliseconds.' });
const isLevel = z.boolean().meta({ description: 'It had everything a moment ago.' });
const trouble = z.string().nullable().meta({ description: 'What is in the way; null: nothing is.' });

const replicationSchema = z
  .object({
    name: z.string().meta({ description: 'Of this process among the others.' }),
    origin: z.string().meta({ description: 'The engine or the primary: an address, without secrets.' }),
    receiver: z
      .object({
        backlog: z.int().meta({ description: 'Deliveries that are answered and not yet forwarded.' }),
        backlog_age_ms: milliseconds,
        trouble,
      })
      .nullable()
      .meta({ description: 'Null: webhooks do not come here.' }),
    replica: z
      .object({
        left: z.int().meta({ description: 'Entries that are there and not here, as far as is known.' }),
        behind_ms: milliseconds
          .nullable()
          .meta({ description: 'Since it last had everything, in milliseconds; null: not since its start.' }),
        is_level: isLevel,
        trouble,
        trouble_ms: milliseconds
          .nullable()
          .meta({ description: 'Since it has been in the way, in milliseconds; null: nothing is.' }),
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
            is_level: isLevel,
            is_leading: z.boolean(),
          }),
        ),
      })
      .meta({ description: 'All that are heard of, this process included.' }),
  })
  .openapi('Replication');

const replication = createRoute({
  method: 'get',
  path: '/api/replication',
  operationId: 'replication',
  summary: 'The machines that share the event log',
  request: { query: z.strictObject({}) },
  responses: withRefusals({
    200: answers('How this process stands to the others', replicationSchema),
    404: NOT_FOUND,
  }),
});

/** @param view null: the event log is this machine's own. */
export function replicationRoutes(view: () => ReplicationView | null): ApiRouter {
  const app = apiRouter();
  app.openapi(replication, (c) => {
    const found = view();
    if (found === null)
      return c.json(errorBody('not_found', 'this mirror shares its event log with none'), 404);
    const { members, ...rest } = found;
    return c.json(
      { ...rest, members: { receivers: [...members.receivers], replicas: [...members.replicas] } },
      200,
    );
  });
  return app;
}
