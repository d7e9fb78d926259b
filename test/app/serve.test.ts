import { expect, test } from 'vitest';
import { startInTime } from '../../src/app/serve.ts';

/** Pauses that the test ends, or their signal. */
function pauses() {
  const waiting: (() => void)[] = [];
  const pause = async <T>(_ms?: number, value?: T, options?: { signal?: AbortSignal }): Promise<T> => {
    await new Promise<void>((resolve, reject) => {
      waiting.push(resolve);
      options?.signal?.addEventListener('abort', () => {
        waiting.length = 0;
        reject(new Error('aborted'));
      });
    });
    return value as T;
  };
  return { pause, waiting };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test.each(['gives a mirror', 'fails'])('reports a slow start until it %s', async (how) => {
  const said: string[] = [];
  const { pause, waiting } = pauses();
  const start = Promise.withResolvers<string>();
  const log = { warn: (_fields: unknown, text: string) => said.push(text) };
  const started = startInTime(start.promise, log as never, pause as never);
  for (let notices = 1; notices <= 2; notices += 1) {
    waiting.shift()?.();
    await settled();
    expect(said).toHaveLength(notices);
  }
  expect(said[0]).toContain('still starting');
  expect(waiting).toHaveLength(1);
  if (how === 'fails') start.reject(new Error('no disk'));
  else start.resolve('the mirror');
  await (how === 'fails'
    ? expect(started).rejects.toThrow('no disk')
    : expect(started).resolves.toBe('the mirror'));
  expect(waiting).toEqual([]);
});

test('gives up a start after a minute', async () => {
  const { pause, waiting } = pauses();
  const never = new Promise<string>(() => undefined);
  const started = startInTime(never, { warn: () => undefined }, pause as never);
  const failed = expect(started).rejects.toThrow('the inbox could not be opened within 60 s');
  for (let notices = 1; notices <= 6; notices += 1) {
    waiting.shift()?.();
    await settled();
  }
  await failed;
});
