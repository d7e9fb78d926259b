/** The projection as its owner sees it. */
import { expect, test } from 'vitest';
import type { FromProjection, ToProjection } from '../../../src/mirror/writer/apply-loop.ts';
import { ProjectionClient } from '../../../src/mirror/writer/projection-client.ts';
import type { Thread } from '../../../src/platform/thread.ts';

test('who waits for an entry before the mirror is open need not wait for the next transaction', async () => {
  let tell = (_: FromProjection): void => undefined;
  const thread: Thread<ToProjection, FromProjection> = {
    post: () => undefined,
    onMessage: (listener) => (tell = listener),
    onEnd: () => undefined,
    stop: () => Promise.resolve(),
  };
  const projection = new ProjectionClient({ onNews: () => undefined, onApplyNews: () => undefined });
  const opened = projection.start(thread, { lastSeq: 8, endSeq: 8, condemned: null }, () => undefined);
  const applied = projection.applied(7);
  const position = { epoch: 'first', appliedSeq: 7, changeSeq: 0, isBackup: false };
  tell({ type: 'opened', position, newEpoch: null });
  await opened;
  expect(await applied).toMatchObject({ facts: [] });
});
