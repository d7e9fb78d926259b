/** `prune` in a server: portion after portion, until nothing is left, somebody stops it, or the server goes. */
import { expect, test } from 'vitest';
import type { OpsClient } from '../../../src/cli/shared/ops-client.ts';
import { pruneInServer } from '../../../src/cli/prune/in-server.ts';

const portion = (log: number, then: 'more' | 'done') => ({
  ...{ days: 30, log, changes: 1, quarantine: 0, runs: 0, complete: then === 'done' },
});

/** A server with these answers, in order; then nobody listens. */
function answering(...portions: readonly object[]): { ops: Pick<OpsClient, 'post'>; asked: unknown[] } {
  const left = [...portions];
  const asked: unknown[] = [];
  const ops: Pick<OpsClient, 'post'> = {
    post: (path, body, schema) => {
      asked.push([path, body]);
      const answer = left.shift();
      return Promise.resolve(answer === undefined ? null : schema.parse(answer));
    },
  };
  return { ops, asked };
}

const never = new AbortController().signal;

test('the portions are added up', async () => {
  const { ops, asked } = answering(portion(500, 'more'), portion(500, 'more'), portion(7, 'done'));
  expect(await pruneInServer(ops, 30, never)).toEqual({ ...portion(1_007, 'done'), changes: 3 });
  expect(asked).toEqual(Array.from({ length: 3 }, () => ['/api/prune', { days: 30 }]));
});

test('without days, they are the server’s to choose; without a server, there is nothing', async () => {
  const { ops, asked } = answering();
  expect(await pruneInServer(ops, undefined, never)).toBeNull();
  expect(asked).toEqual([['/api/prune', {}]]);
});

test('interrupted, it says what is gone, and that there is more', async () => {
  const { ops } = answering(portion(500, 'more'), portion(500, 'more'));
  expect(await pruneInServer(ops, 30, AbortSignal.abort())).toEqual(portion(500, 'more'));
});

test('a server that goes in the middle is told of', async () => {
  const { ops } = answering(portion(500, 'more'));
  await expect(pruneInServer(ops, 30, never)).rejects.toThrow(
    'the mirror has stopped; it deleted 501 rows: prune again when it is back',
  );
});
