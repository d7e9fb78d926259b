import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { ChangeFeed, nextOf, whyStartOver, type StartOver } from '../feed/change-feed.ts';
import { followChanges } from '../feed/follow-changes.ts';
import { Streams } from '../feed/streams.ts';
import type { OpsEnv } from '../shared/env.ts';
import type { OpsDeps } from '../shared/operator.ts';
import { epochSchema, lastSeqSchema } from '../shared/shapes.ts';
import { TrustFeed } from '../feed/trust-feed.ts';
import {
  answers,
  apiRouter,
  EVENTS,
  flagParameter,
  limitParameter,
  seqParameter,
  withRefusals,
  type ApiRouter,
} from './router.ts';
import { changeSchema, trustSchema } from './rows.ts';

const CONTRACT = [
  'Numbers only grow, in commit order, so a consumer misses nothing and sees nothing twice.',
  'Keep `epoch` and `next` of each answer, and send both with the next request.\n' +
    'Start over (read all of /api/sellable, then continue from its `last_seq`) when the answer is',
  "409 `epoch_changed`: the mirror's history has restarted;",
  '410 `pruned`: the next changes are older than RETENTION_DAYS and were deleted;',
  '410 `ahead`: the mirror has not issued this number yet.',
  'A consumer that does not send `epoch` must compare it itself.',
].join(' ');

const startOverSchema = z
  .object({
    error: z.enum(['epoch_changed', 'pruned', 'ahead']),
    error_description: z.string(),
    epoch: epochSchema,
    last_seq: lastSeqSchema,
  })
  .openapi('StartOver');

const START_OVER = {
  409: answers('Start over: the mirror’s history has restarted', startOverSchema),
  410: answers('Start over: the next changes were deleted, or the number was never issued', startOverSchema),
} as const;

const position = {
  after: seqParameter(
    'The `next` of the previous answer. Without it, the oldest change comes first.',
  ).optional(),
  epoch: z
    .string()
    .regex(/^[0-9a-f]{1,64}$/, 'must be the `epoch` of an answer')
    .optional()
    .openapi({ description: 'The epoch the consumer knows.' }),
};

/** Empty: the client has received no id yet. */
const lastEventId = z
  .union([z.literal('').transform(() => undefined), seqParameter('')])
  .optional()
  .openapi({
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'The id of the last event.',
  });

const changes = createRoute({
  method: 'get',
  path: '/api/changes',
  operationId: 'changes',
  summary: 'Changes after a number, oldest first',
  description: CONTRACT,
  request: {
    query: z.strictObject({
      ...position,
      limit: limitParameter,
      trust: flagParameter('1: with `trust`, which rows are not trusted.'),
    }),
  },
  responses: withRefusals({
    200: answers(
      'A page',
      z.object({
        epoch: epochSchema,
        changes: z.array(changeSchema).readonly(),
        next: z.int().meta({ description: 'Send it as the next `after`. Never below `after`.' }),
        has_more: z.boolean(),
        trust: trustSchema.optional().meta({ description: 'With `trust=1`.' }),
      }),
    ),
    409: START_OVER[409],
    410: START_OVER[410],
  }),
});

const stream = createRoute({
  method: 'get',
  path: '/api/changes/stream',
  operationId: 'changesStream',
  summary: 'Changes as they are made, as server-sent events',
  description:
    `The stream begins with an event \`epoch\` with {epoch, last_seq}; ` +
    `then each change is an event \`change\` with its number as id. An event \`trust\` ` +
    'with the fields of `Trust` is sent at the start, whenever it changes, ' +
    'at most once a second, and every 10 s. An id without an event only moves the number forward. ' +
    `A reconnecting EventSource sends Last-Event-ID, which takes precedence over \`after\`. ` +
    `A reader that was too slow gets an event \`gone\`, which means start over, ` +
    `and the stream ends. A client that reads nothing for 90 s is disconnected. ${CONTRACT}`,
  request: {
    query: z.strictObject(position),
    headers: z.object({ 'last-event-id': lastEventId }),
  },
  responses: withRefusals({ 200: EVENTS, 409: START_OVER[409], 410: START_OVER[410] }),
});

export function changesRoutes(deps: OpsDeps): ApiRouter {
  const { reader } = deps;
  const feed = new ChangeFeed(deps);
  const trust = new TrustFeed(deps);
  const streams = new Streams(deps);
  const app = apiRouter();
  app.openapi(changes, async (c) => {
    const { after = null, epoch = null, limit, trust: isTrustWanted = false } = c.req.valid('query');
    const page = await reader.ask('changesAfter', { after, limit });
    const startOver = whyStartOver({ after, epoch }, page);
    if (startOver !== null) return refuse(c, startOver);
    const { epoch: current, changes: rows, hasMore } = page;
    const answer = { epoch: current, changes: rows, next: nextOf(page), has_more: hasMore };
    if (!isTrustWanted) return c.json(answer, 200);
    return c.json({ ...answer, trust: await trust.now() }, 200);
  });

  app.openapi(stream, async (c) => {
    const { after, epoch = null } = c.req.valid('query');
    const from = c.req.valid('header')['last-event-id'] ?? after ?? null;
    const page = await reader.ask('changesAfter', { after: from, limit: 1 });
    const startOver = whyStartOver({ after: from, epoch }, page);
    if (startOver !== null) return refuse(c, startOver);
    return streams.answer(c, (signal) =>
      followChanges({ feed, trust, from: page, after: from ?? page.keptAfterSeq, signal }),
    );
  });
  return app;
}

function refuse(c: Context<OpsEnv>, startOver: StartOver) {
  return startOver.error === 'epoch_changed' ? c.json(startOver, 409) : c.json(startOver, 410);
}
