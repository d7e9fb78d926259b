import { expect, test } from 'vitest';
import { createHeartbeat } from '../../src/intake/heartbeat.ts';

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
  const heartbeat = createHeartbeat(target, () => nowMs);
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
