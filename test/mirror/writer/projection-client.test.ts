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
  const nothing = (): void => undefined;
  const events = { onDeath: nothing, onLost: nothing, onNews: nothing, onApplyNews: nothing };
  const projection = new ProjectionClient(thread, events);
  const opened = projection.open(8);
  const applied = projection.applied(7);
  tell({ type: 'opened', appliedSeq: 7 });
  await opened;
  expect(await applied).toMatchObject({ facts: [] });
});
