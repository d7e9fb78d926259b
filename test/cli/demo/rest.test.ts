import { expect, test } from 'vitest';
import { untilAtRest } from '../../../src/cli/demo/rest.ts';
import { NoAnswerError, type OpsClient } from '../../../src/cli/shared/ops-client.ts';

interface Answers {
  readonly state?: string;
  readonly pending_reads?: number;
  readonly run?: 'running' | 'done';
}

/** A server that answers these, one look after the other, and the last one for ever. */
function server(...looks: (Answers | 'gone' | 'no answer')[]): Pick<OpsClient, 'get'> {
  return {
    get: (path, schema) => {
      const look = looks[0];
      if (look === 'gone' || look === 'no answer' || look === undefined) {
        if (looks.length > 1) looks.shift();
        return look === 'gone' ? Promise.resolve(null) : Promise.reject(new NoAnswerError('silence'));
      }
      const { state = 'live', pending_reads = 0, run = 'done' } = look;
      // A look asks for the runs first.
      if (path === '/api/runs') {
        if (run === 'running' && looks.length > 1) looks.shift();
        return Promise.resolve(schema.parse({ runs: [{ run_id: 1, state: run }] }));
      }
      if (looks.length > 1) looks.shift();
      return Promise.resolve(schema.parse({ state, pending_reads }));
    },
  };
}

const never = new AbortController().signal;

test.each<[what: string, looks: Parameters<typeof server>]>([
  ['a run', [{ run: 'running' }, {}]],
  ['reads that are due', [{ pending_reads: 1 }, {}]],
  ['a state that is not live', [{ state: 'catching_up' }, {}]],
  ['a server that is starting', ['gone', 'no answer', {}]],
])('it waits for %s', async (_, looks) => {
  expect(await untilAtRest(server(...looks), { readsToo: true, withinMs: 10_000 }, never)).toBe(true);
});

test('for the runs alone it does not wait for reads', async () => {
  const ops = server({ pending_reads: 3, state: 'stale' });
  expect(await untilAtRest(ops, { readsToo: false, withinMs: 0.1 }, never)).toBe(true);
});

test('a mirror that never comes to rest is told by false', async () => {
  expect(await untilAtRest(server({ pending_reads: 1 }), { readsToo: true, withinMs: 300 }, never)).toBe(
    false,
  );
});

test('a cancelled wait throws the reason at once', async () => {
  const died = new AbortController();
  const waiting = untilAtRest(
    server({ pending_reads: 1 }),
    { readsToo: true, withinMs: 60_000 },
    died.signal,
  );
  died.abort(new Error('the mirror ended'));
  await expect(waiting).rejects.toThrow('the mirror ended');
});
