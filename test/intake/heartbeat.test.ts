import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createHeartbeat } from '../../src/intake/heartbeat.ts';
import { log } from '../reconcile/mirror.ts';

test('shows the last heartbeat after one that is still being shown', async () => {
  let nowMs = 1_000;
  const shown: number[] = [];
  const held: (() => void)[] = [];
  const isLast: boolean[] = [];
  const target = {
    beat: (_: number, last: boolean) => Promise.resolve(isLast.push(last)),
    show: (atMs: number) => {
      shown.push(atMs);
      return new Promise<void>((resolve) => held.push(resolve));
    },
  };
  const heartbeat = createHeartbeat({ target, wallNow: () => nowMs, log });
  heartbeat.begin();
  await expect(heartbeat.check()).resolves.toBe(true);
  nowMs = 1_900;
  const stopped = heartbeat.stop();
  held[0]?.();
  await expect.poll(() => held.length).toBe(2);
  held[1]?.();
  await stopped;
  expect([shown, isLast]).toEqual([
    [1_000, 1_900],
    [false, true],
  ]);
});

test('logs why a heartbeat failed, and beats again', async () => {
  const lines: string[] = [];
  const outcomes = [Promise.reject(new Error('cannot store REAL value')), Promise.resolve()];
  const target = { beat: () => outcomes.shift() ?? Promise.resolve(), show: () => Promise.resolve() };
  const heartbeat = createHeartbeat({
    target,
    wallNow: () => 1_000,
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  });
  heartbeat.begin();
  await expect(heartbeat.check()).resolves.toBe(false);
  await expect.poll(() => heartbeat.check()).toBe(true);
  await heartbeat.stop();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('cannot store REAL value');
});
