import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Neighbours } from '../../src/replication/neighbours.ts';
import { TransportError, type Notes } from '../../src/replication/transport.ts';

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const NOTE = { life: 'l', backlog: 0, backlogAgeMs: 0 };

test('who was heard of is there for as long as a note lasts, though the engine does not answer', async () => {
  let isAnswering = true;
  const list = (prefix: string): Promise<ReadonlyMap<string, unknown>> =>
    isAnswering
      ? Promise.resolve(new Map(prefix.startsWith('receiver') ? [[`${prefix}a`, NOTE]] : []))
      : Promise.reject(new TransportError('no answer'));
  const notes: Notes = {
    list,
    get: () => Promise.resolve(null),
    put: () => Promise.resolve(),
    delete: () => Promise.resolve(),
  };
  const over = new AbortController();
  const neighbours = new Neighbours(notes);
  expect(neighbours.hearsSinceMs).toBeNull();
  const running = neighbours.run(over.signal);
  await vi.advanceTimersByTimeAsync(2_100);
  const sinceMs = neighbours.hearsSinceMs;
  expect(sinceMs).not.toBeNull();
  isAnswering = false;
  await vi.advanceTimersByTimeAsync(6_000);
  expect(neighbours.members.receivers.size).toBe(1);
  expect(neighbours.hearsSinceMs).toBe(sinceMs);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(neighbours.members.receivers.size).toBe(0);
  expect(neighbours.hearsSinceMs).toBeNull();
  isAnswering = true;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(neighbours.members.receivers.size).toBe(1);
  expect(neighbours.hearsSinceMs).toBeGreaterThan(sinceMs ?? 0);
  over.abort();
  await running;
});
