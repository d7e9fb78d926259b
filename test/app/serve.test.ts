import { expect, test } from 'vitest';
import { startInTime } from '../../src/app/serve.ts';
import { virtualTime } from '../shared/virtual-time.ts';

test.each(['gives a mirror', 'fails'])('reports a slow start until it %s', async (how) => {
  const { pass } = virtualTime();
  const said: string[] = [];
  const start = Promise.withResolvers<string>();
  const log = { warn: (_fields: unknown, text: string) => said.push(text) };
  const started = startInTime(start.promise, log as never);
  for (let notices = 1; notices <= 2; notices += 1) {
    await pass(10_000);
    expect(said).toHaveLength(notices);
  }
  expect(said[0]).toContain('still starting');
  if (how === 'fails') start.reject(new Error('no disk'));
  else start.resolve('the mirror');
  await (how === 'fails'
    ? expect(started).rejects.toThrow('no disk')
    : expect(started).resolves.toBe('the mirror'));
  await pass(60_000);
  expect(said).toHaveLength(2);
});

test('gives up a start after a minute', async () => {
  const { pass } = virtualTime();
  const never = new Promise<string>(() => undefined);
  const started = startInTime(never, { warn: () => undefined });
  const failed = expect(started).rejects.toThrow('the inbox could not be opened within 60 s');
  await pass(60_000);
  await failed;
});
