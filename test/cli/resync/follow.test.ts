import { expect, test } from 'vitest';
import { followInServer } from '../../../src/cli/resync/follow.ts';
import { NoAnswerError, type OpsClient } from '../../../src/cli/shared/ops-client.ts';

test('a connection that breaks is a server that is gone for a while, not an error', async () => {
  const run = { run_id: 4, kind: 'operator', state: 'done', started_at: 1, finished_at: 2 };
  const answers = [
    () => Promise.reject(new NoAnswerError('hung up')),
    () => Promise.resolve({ ...run, total: 3, done: 3, drift: 0, failed: 0, error: null }),
  ];
  const ops: OpsClient = {
    get: async (path, schema) =>
      schema.parse(path === '/api/status' ? { blocked: null } : await answers.shift()?.()),
    post: () => Promise.reject(new Error('nothing is begun again')),
  };
  const said: string[] = [];
  const progress = { show: () => undefined, say: (text: string) => said.push(text), end: () => undefined };
  const begin = () => Promise.reject<null>(new Error('nothing is begun again'));
  const ended = await followInServer({ ops, begin, progress }, 4, new AbortController().signal);
  expect(ended).toMatchObject({ run_id: 4, state: 'done' });
  expect(said).toEqual(['the mirror has stopped; the run continues when it is back', 'the mirror is back']);
});
