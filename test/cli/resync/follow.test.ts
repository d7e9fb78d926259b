import { expect, test } from 'vitest';
import { followInServer } from '../../../src/cli/resync/follow.ts';
import { NoAnswerError, type OpsClient, type ServerEvent } from '../../../src/cli/shared/ops-client.ts';

const RUN = { run_id: 4, kind: 'operator', started_at: 1, total: 3, drift: 0, failed: 0, error: null };
const running = { name: 'run', data: { ...RUN, state: 'running', finished_at: null, done: 1 } };
const ended = (state: 'done' | 'failed', runId = 4) => ({
  name: 'run',
  data: { ...RUN, run_id: runId, state, finished_at: 2, done: 3 },
});

/** Each connection gives its events, and then ends, or breaks with the error. */
function follow(
  connections: (readonly (ServerEvent | Error)[])[],
  begin: () => Promise<{ run_id: number } | null>,
) {
  const asked: string[] = [];
  const said: string[] = [];
  const ops: Pick<OpsClient, 'events'> = {
    async *events(path) {
      asked.push(path);
      for (const each of connections.shift() ?? [new Error('no more connections')]) {
        await Promise.resolve();
        if (each instanceof Error) throw each;
        yield each;
      }
    },
  };
  const progress = { show: () => undefined, say: (text: string) => said.push(text), end: () => undefined };
  return { run: followInServer({ ops, begin, progress }, 4, new AbortController().signal), asked, said };
}

const never = () => Promise.reject<null>(new Error('nothing is begun again'));
const AWAY = ['the mirror has stopped; the run continues when it is back', 'the mirror is back'];

test('a connection that breaks is a server that is gone for a while, not an error', async () => {
  const { run, said } = follow([[new NoAnswerError('hung up')], [running, ended('done')]], never);
  expect(await run).toMatchObject({ run_id: 4, state: 'done' });
  expect(said).toEqual(AWAY);
});

test('a run that a start of the mirror has superseded is begun again, and that one is followed', async () => {
  const { run, asked } = follow([[running], [ended('failed')], [ended('done', 5)]], () =>
    Promise.resolve({ run_id: 5 }),
  );
  expect(await run).toMatchObject({ run_id: 5, state: 'done' });
  expect(asked).toEqual(['/api/runs/4/stream', '/api/runs/4/stream', '/api/runs/5/stream']);
});

test('what holds the run back is said once, and ends the waiting when only a person can lift it', async () => {
  const blocked = (kind: string) => ({ name: 'blocked', data: { kind, message: `${kind}!`, until: null } });
  const pause = {
    kind: 'rate_limited',
    owner: 'store',
    cause: 'A pause',
    figures: 'no matter',
    remedy: 'nothing',
  };
  const causes = { name: 'causes', data: [{ ...pause, since: null, until: null }] };
  const lifted = { name: 'causes', data: [] };
  const paused = follow(
    [[blocked('rate_limited'), causes, running, running, lifted, running, ended('done')]],
    never,
  );
  expect(await paused.run).toMatchObject({ state: 'done' });
  expect(paused.said).toEqual(['waiting: A pause. The fault is the store’s. No matter. What to do: nothing']);
  await expect(follow([[blocked('credentials'), running]], never).run).rejects.toThrow('credentials!');
});
