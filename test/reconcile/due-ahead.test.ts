import { expect, test } from 'vitest';
import { DueAhead } from '../../src/reconcile/due-ahead.ts';
import type { StoreReader } from '../../src/mirror/reader/store-reader.ts';

/** A database in which these are due, and these were read longest ago. */
function setUp(due: string[], oldest: string[] = []) {
  const time = { nowMs: 1_000_000 };
  let onAsked: () => void = () => undefined;
  const reader = {
    ask: (_: string, { limit, oldestLimit }: { limit: number; oldestLimit: number }) => {
      const found = { due: due.slice(0, limit), oldest: oldest.slice(0, oldestLimit) };
      onAsked();
      return Promise.resolve(found);
    },
  } as unknown as StoreReader;
  const ahead = new DueAhead({ reader, now: () => time.nowMs });
  const takeAll = (): string[] => {
    const taken: string[] = [];
    for (let id = ahead.take(); id !== null; id = ahead.take()) taken.push(id);
    return taken;
  };
  return { time, ahead, takeAll, onAsk: (listener: () => void) => (onAsked = listener) };
}

test('what was found counts for a moment only', async () => {
  const { time, ahead } = setUp(['1', '2']);
  await ahead.ask(8, []);
  expect(ahead.take()).toBe('1');
  time.nowMs += 100;
  expect(ahead.isSpent).toBe(true);
  expect(ahead.take()).toBeNull();
  await ahead.ask(8, []);
  expect(ahead.take()).toBe('1');
});

test('what is taken while the question is under way is not given out again', async () => {
  const { ahead, takeAll, onAsk } = setUp(['1', '2', '3'], ['2']);
  await ahead.ask(3, []);
  onAsk(() => expect(ahead.take()).toBe('1'));
  await ahead.ask(3, []);
  expect(takeAll()).toEqual(['2', '3']);
});

test('it is to be asked again while half is left, and at once when something urgent came up, even during an answer', async () => {
  const { ahead, onAsk } = setUp(['1', '2', '3', '4']);
  await ahead.ask(4, []);
  ahead.take();
  expect(ahead.isSpent).toBe(false);
  ahead.take();
  expect(ahead.isSpent).toBe(true);
  onAsk(() => ahead.expire());
  await ahead.ask(4, []);
  expect(ahead.isSpent).toBe(true);
  // What is known is better than to wait.
  expect(ahead.take()).toBe('1');
});

test('every fifth is one that was read longest ago, and none comes twice', async () => {
  const { ahead, takeAll } = setUp(['1', '2', '3', '4', '5', '6', '7', '8', '9', '10'], ['8', '20']);
  await ahead.ask(10, []);
  expect(takeAll()).toEqual(['1', '2', '3', '4', '8', '5', '6', '7', '9', '20', '10']);
});
