/** What the private listener answers while the mirror cannot be read or written. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { unlessStuck } from '../../src/ops/shared/unless-stuck.ts';
import { StoreError } from '../../src/sqlite/errors.ts';
import { checkAnswer } from '../contract/openapi.ts';
import { newStore } from '../reconcile/mirror.ts';
import { startOps } from './harness.ts';

test('503 with the reason, on every path that asks the mirror', async () => {
  const store = newStore();
  const reason = 'another program deleted, moved or replaced mirror.db';
  const away = { ask: () => Promise.reject(new StoreError('unreachable', reason)) };
  const ops = await startOps(store, { reader: away });
  const document = (await ops.ask('/openapi.json')).json as object;
  for (const path of ['/api/stock', '/api/changes', '/api/runs', '/api/drift']) {
    const { status, headers, json } = await ops.ask(path);
    expect(status, path).toBe(503);
    expect(json).toEqual({ error: 'unavailable', error_description: reason });
    checkAnswer(document, { method: 'GET', path, status, headers, body: json });
  }
  expect(await ops.ask('/readyz')).toMatchObject({ status: 503, json: { state: 'stale' } });
  expect((await ops.ask('/')).status).toBe(503);
});

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

test('work that waits while the tables cannot be written ends with the reason, and not before', async () => {
  const writer = { stuck: null as StoreError | null };
  const work = Promise.withResolvers<number>();
  const asked = unlessStuck(work.promise, writer);
  const end = vi.fn();
  asked.catch(end);
  // Slow, and not stuck.
  await vi.advanceTimersByTimeAsync(60_000);
  expect(end).not.toHaveBeenCalled();
  writer.stuck = new StoreError('busy', 'another program holds the lock');
  await vi.advanceTimersByTimeAsync(5_000);
  await expect(asked).rejects.toMatchObject({ kind: 'busy' });
  await expect(asked).rejects.toThrow('another program holds the lock');
  // How it ends later is of no interest any more.
  work.reject(new Error('closed'));
  expect(vi.getTimerCount()).toBe(0);
});

test('work that ends in time gives its result', async () => {
  const writer = { stuck: new StoreError('busy', 'for a moment') };
  expect(await unlessStuck(Promise.resolve(7), writer)).toBe(7);
  await expect(unlessStuck(Promise.reject(new Error('its own')), writer)).rejects.toThrow('its own');
  expect(vi.getTimerCount()).toBe(0);
});
