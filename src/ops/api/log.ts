/**
 * `GET /api/log/entries` and `GET /api/log/snapshot`: the event log and both files, for a mirror on another machine that
 * is to be a copy of this one (docs/follower.md#following-a-primary).
 */
import { createRoute, z } from '@hono/zod-openapi';
import { ENTRIES_TYPE, SNAPSHOT_TYPE, type SnapshotHeader } from '../../event-log/wire.ts';
import { encodeFrame } from '../../platform/frames.ts';
import type { ReplicationView } from '../condition/replication.ts';
import { errorBody, errorSchema } from '../shared/api-error.ts';
import type { OpsDeps } from '../shared/operator.ts';
import type { ChangeFeed } from '../feed/change-feed.ts';
import type { HeldAnswers } from '../feed/held-answers.ts';
import { streamLog } from '../feed/log-stream.ts';
import { streamSnapshot } from '../feed/snapshot-stream.ts';
import { seqParameter, wholeNumber } from './parameters.ts';
import { answers, apiRouter, withRefusals, type ApiRouter } from './router.ts';

const FRAMES =
  'Frames, one after the other: four bytes with the length of a header (big-endian), the header as JSON, and as many raw bytes as its `bytes` says; without `bytes`, none.';

const entries = createRoute({
  method: 'get',
  path: '/api/log/entries',
  operationId: 'logEntries',
  summary: 'The event log after a place, as it grows, for a copy on another machine',
  description: `What \`stock-mirror follow\` reads. ${FRAMES} An entry has {seq, kind, at_ms, bytes}; its bytes are a webhook as it was sent, or JSON. After some entries, and every second, comes {type: "standing", first_seq, last_seq, live}: the first entry that is kept, the last one that is on disk, and whether this mirror is itself up to date. {type: "refused", error, description} ends it: what a 409 says, when it comes to that later. A reader that takes nothing for 10 s is disconnected.`,
  request: {
    query: z.strictObject({
      epoch: z
        .string()
        .regex(/^[0-9a-f]{1,64}$/, 'must be the epoch of an event log')
        .openapi({ description: 'The history that the copy has.' }),
      after: seqParameter('The last entry that the copy has.'),
      rules: wholeNumber(1, 1_000_000, 'The version of the rules by which the copy applies entries.'),
    }),
  },
  responses: withRefusals({
    200: {
      description: 'Frames, until either side closes the stream',
      content: { [ENTRIES_TYPE]: { schema: z.string() } },
    },
    409: answers(
      '`snapshot_needed`: what comes after this place cannot be had; the copy begins anew from a snapshot. `other_rules`: another version of stock-mirror',
      errorSchema,
    ),
  }),
});

const snapshot = createRoute({
  method: 'get',
  path: '/api/log/snapshot',
  operationId: 'logSnapshot',
  summary: 'Both files as of now, for a copy on another machine',
  description: `What \`stock-mirror follow\` begins with: a consistent copy of the mirror and of its event log, which holds every webhook as it was sent. ${FRAMES} {type: "making"} comes every second while they are copied, beside the mirror, with as much room; then {type: "files", mirror_bytes, log_bytes}; then {type: "content", bytes}: pieces of one gzip stream with the mirror and, after it, the event log; and {type: "end"}. {type: "failed", problem} ends it early. One is made at a time.`,
  request: { query: z.strictObject({}) },
  responses: withRefusals({
    200: {
      description: 'Frames, until the end',
      content: { [SNAPSHOT_TYPE]: { schema: z.string() } },
    },
  }),
});

interface LogDeps extends Pick<OpsDeps, 'reader' | 'writer' | 'makeSnapshot' | 'log'> {
  /** How this mirror stands to what it copies; null: its event log is its own. */
  readonly replication: () => ReplicationView | null;
  readonly feed: ChangeFeed;
  readonly held: HeldAnswers;
}

const ONE_AT_A_TIME = 'a snapshot is being sent to another copy: try again later';

export function logRoutes(deps: LogDeps): ApiRouter {
  const { reader, writer, replication, makeSnapshot, log, feed, held } = deps;
  const isLive = (): boolean => {
    const replica = replication()?.replica ?? null;
    return replica === null || replica.is_up_to_date;
  };
  const app = apiRouter();

  app.openapi(entries, async (c) => {
    const from = c.req.valid('query');
    const refused = await reader.ask('logSlice', { ...from, upTo: from.after });
    if ('error' in refused) return c.json(errorBody(refused.error, refused.description), 409);
    const release = held.hold();
    if (release === null) return held.tooMany(c);
    return held.stream(
      c,
      (signal) => streamLog({ reader, writer, feed, from, isLive, signal }),
      release,
      ENTRIES_TYPE,
    );
  });

  let isSending = false;
  async function* one(signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    if (isSending) {
      yield encodeFrame({ type: 'failed', problem: ONE_AT_A_TIME } satisfies SnapshotHeader);
      return;
    }
    isSending = true;
    try {
      yield* streamSnapshot({ makeSnapshot, log, signal });
    } finally {
      isSending = false;
    }
  }
  app.openapi(snapshot, (c) => {
    if (isSending) {
      c.header('Retry-After', '10');
      return c.json(errorBody('unavailable', ONE_AT_A_TIME), 503);
    }
    const release = held.hold();
    if (release === null) return held.tooMany(c);
    return held.stream(c, (signal) => one(signal), release, SNAPSHOT_TYPE);
  });
  return app;
}
