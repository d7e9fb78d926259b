/**
 * `GET /api/changes` and `GET /api/changes/stream`: the change feed (docs/http-api.md#change-feed,
 * docs/reading-the-mirror.md#following-changes).
 */
import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { FeedPage } from '../../store/queries/changes.ts';
import type { StoreReader } from '../../store/store.ts';
import type { OpsEnv } from '../env.ts';
import type { ChangeFeed } from '../feed/change-feed.ts';
import { whyStartOver, type StartOver } from '../feed/cursor.ts';
import { followChanges, nextOf } from '../feed/follow-changes.ts';
import type { HeldAnswers } from '../feed/held-answers.ts';
import { limitParameter, seqParameter, wholeNumber } from './parameters.ts';
import { answers, apiRouter, EVENTS, withRefusals, TOO_MANY, type ApiRouter } from './router.ts';
import { changeSchema, epochSchema, lastSeqSchema } from './rows.ts';

const MAX_WAIT_S = 60;

const CONTRACT = `Numbers only grow, in the order of the commits: nothing is missed, nothing repeated. Keep \`epoch\` and \`next\`, and give both back.
Start over (read /api/stock whole, go on from the \`last_seq\` it came with) when the answer is 409 \`epoch_changed\`: history has started again; 410 \`pruned\`: what comes next is older than RETENTION_DAYS; 410 \`ahead\`: the number was never given out. A consumer that does not send \`epoch\` must compare the one in the answer itself.`;

const startOverSchema = z
  .object({
    error: z.enum(['epoch_changed', 'pruned', 'ahead']),
    error_description: z.string(),
    epoch: epochSchema,
    last_seq: lastSeqSchema,
  })
  .openapi('StartOver');

const START_OVER = {
  409: answers('Start over: history has started again', startOverSchema),
  410: answers('Start over: what comes next is no longer kept, or was never given out', startOverSchema),
} as const;

const after = seqParameter(
  'The last number the consumer has: `next` of the answer before. Without it, the oldest change that is kept comes first.',
).optional();
const epoch = z
  .string()
  .regex(/^[0-9a-f]{1,64}$/, 'must be the `epoch` of an answer')
  .optional()
  .openapi({ description: 'The epoch the consumer knows.' });

const changes = createRoute({
  method: 'get',
  path: '/api/changes',
  operationId: 'changes',
  summary: 'Changes after a number',
  description: CONTRACT,
  request: {
    query: z.strictObject({
      after,
      epoch,
      limit: limitParameter,
      wait_seconds: wholeNumber(
        0,
        MAX_WAIT_S,
        'Long poll: how long the answer may wait for the first change, when there is none yet.',
      ).optional(),
    }),
  },
  responses: withRefusals({
    200: answers(
      'Changes, the oldest first',
      z.object({
        epoch: epochSchema,
        changes: z.array(changeSchema),
        next: z.int().meta({ description: 'Ask for what comes after it. Never below `after`.' }),
        has_more: z.boolean(),
      }),
    ),

    409: START_OVER[409],
    410: START_OVER[410],
    503: TOO_MANY,
  }),
});

const stream = createRoute({
  method: 'get',
  path: '/api/changes/stream',
  operationId: 'changesStream',
  summary: 'Changes as they are made, as server-sent events',
  description: `First an event \`epoch\` with {epoch, last_seq}, then an event \`change\` for each change, its number as id; an id alone moves the number on without an event. A reconnecting EventSource sends Last-Event-ID, which goes before \`after\`. An event \`gone\` tells a reader that was too slow to start over; then the stream ends. A comment is sent every 15 s of silence. Whoever takes nothing for 10 s is cut. ${CONTRACT}`,
  request: {
    query: z.strictObject({ after, epoch }),
    headers: z.object({
      'last-event-id': seqParameter('The id of the last event.').optional(),
    }),
  },
  responses: withRefusals({
    200: { description: 'Events until either side ends it', content: { [EVENTS]: { schema: z.string() } } },

    409: START_OVER[409],
    410: START_OVER[410],
    503: TOO_MANY,
  }),
});

export interface ChangesDeps {
  readonly reader: StoreReader;
  readonly feed: ChangeFeed;
  readonly held: HeldAnswers;
}

export function changesRoutes({ reader, feed, held }: ChangesDeps): ApiRouter {
  const app = apiRouter();

  app.openapi(changes, async (c) => {
    const { after = null, epoch = null, limit, wait_seconds: waitSeconds = 0 } = c.req.valid('query');
    let page = await reader.ask('changesAfter', { after, limit });
    const startOver = whyStartOver({ after, epoch }, page);
    if (startOver !== null) return refuse(c, startOver);
    if (page.changes.length === 0 && waitSeconds > 0) {
      const release = held.hold();
      if (release === null) return held.tooMany(c);
      const from = nextOf(page);
      try {
        await untilChange(feed, from, waitSeconds * 1_000, held.endOf(c));
        page = await reader.ask('changesAfter', { after: from, limit });
      } finally {
        release();
      }
      const tooLate = whyStartOver({ after: from, epoch }, page);
      if (tooLate !== null) return refuse(c, tooLate);
    }
    return c.json(
      { epoch: page.epoch, changes: [...page.changes], next: nextOf(page), has_more: page.hasMore },
      200,
    );
  });

  app.openapi(stream, async (c) => {
    const { after, epoch = null } = c.req.valid('query');
    const from = c.req.valid('header')['last-event-id'] ?? after ?? null;
    const page = await reader.ask('changesAfter', { after: from, limit: 1 });
    const startOver = whyStartOver({ after: from, epoch }, page);
    if (startOver !== null) return refuse(c, startOver);
    const release = held.hold();
    if (release === null) return held.tooMany(c);
    return held.stream(
      c,
      (signal) => followChanges({ feed, ...page, after: from ?? page.keptAfterSeq, signal }),
      release,
    );
  });
  return app;
}

function refuse(c: Context<OpsEnv>, startOver: StartOver) {
  return startOver.error === 'epoch_changed' ? c.json(startOver, 409) : c.json(startOver, 410);
}

/** Resolves when there is a change after the number, or nobody waits any longer. */
async function untilChange(
  feed: ChangeFeed,
  from: number,
  withinMs: number,
  signal: AbortSignal,
): Promise<void> {
  const unfollow = feed.follow();
  const untilMs = performance.now() + withinMs;
  try {
    for (let at = from; ;) {
      const { wakes } = feed;
      const page: FeedPage = await feed.after(at);
      if (page.changes.length > 0) return;
      at = nextOf(page);
      if (!(await feed.newsSince(wakes, untilMs - performance.now(), signal))) return;
    }
  } finally {
    unfollow();
  }
}
