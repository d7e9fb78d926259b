/** What a replica writes goes into the common order first, and is here once it has come back. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { encodeEntry } from '../../src/event-log/entries.ts';
import type { LogClient } from '../../src/event-log/log-client.ts';
import { SharedLog } from '../../src/replication/shared-log.ts';
import {
  TransportError,
  type Engine,
  type Publication,
  type Published,
} from '../../src/replication/transport.ts';
import { StoreError } from '../../src/sqlite/errors.ts';
import { T0 } from '../mirror/mirror-file.ts';

const entry = encodeEntry({ kind: 'listed', atMs: T0, productIds: [], lookup: false });
/** What is asked here needs none. */
const NO_LOG = {} as unknown as LogClient;
const at = (position: number): Published => ({ position, receipt: position });

function sharedLog(publish: Engine['publish'], appliedSeq: () => number = () => 0): SharedLog {
  return new SharedLog({ log: NO_LOG, engine: { publish }, origin: 'memory', appliedSeq });
}

test('an entry is here when it has come back, whichever is known first', async () => {
  const published = Promise.withResolvers<Published>();
  const log = sharedLog(() => published.promise);
  const early = log.appendEntry(entry);
  log.copied(
    [6, 7, null],
    [
      { seq: 60, duplicate: false },
      { seq: 70, duplicate: false },
      { seq: 71, duplicate: false },
    ],
  );
  published.resolve(at(7));
  expect(await early).toEqual({ seq: 70, duplicate: false });
  const late = sharedLog(() => Promise.resolve(at(7)));
  const appended = late.appendEntry(entry);
  await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  late.copied([7], [{ seq: 8, duplicate: false }]);
  expect(await appended).toEqual({ seq: 8, duplicate: false });
});

test('one that does not come back in time has failed, and what comes later harms nothing', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const log = sharedLog(() => Promise.resolve(at(7)));
  const failed = expect(log.appendEntry(entry)).rejects.toMatchObject({ kind: 'cannot_commit' });
  await vi.advanceTimersByTimeAsync(10_000);
  await failed;
  log.copied([7], [{ seq: 8, duplicate: false }]);
});

test('it is published again under the same id, three times at most', async () => {
  const ids = new Set<string>();
  const publish = vi.fn(({ id }: Publication) => {
    ids.add(id);
    return Promise.reject(new TransportError('no answer'));
  });
  await expect(sharedLog(publish).appendEntry(entry)).rejects.toMatchObject({ kind: 'cannot_commit' });
  expect(publish).toHaveBeenCalledTimes(3);
  expect(ids.size).toBe(1);
});

test('when another history begins, who waits is told, and what is published next is waited for', async () => {
  let position = 6;
  const log = sharedLog(() => Promise.resolve(at((position += 1))));
  const lost = log.appendEntry(entry);
  await new Promise((resolve) => setImmediate(resolve));
  log.giveUp(new StoreError('cannot_commit', 'another history has begun'));
  await expect(lost).rejects.toThrow('another history');
  const next = log.appendEntry(entry);
  await new Promise((resolve) => setImmediate(resolve));
  log.copied([8], [{ seq: 1, duplicate: false }]);
  expect(await next).toMatchObject({ seq: 1 });
});

test('at the end nobody waits any more, not even for an engine that does not answer', async () => {
  const log = sharedLog(() => new Promise(() => undefined));
  const asked = log.appendEntry(entry);
  log.giveUp(new StoreError('closed', 'it stops'), { forGood: true });
  await expect(asked).rejects.toMatchObject({ kind: 'closed' });
  await expect(log.appendEntry(entry)).rejects.toMatchObject({ kind: 'closed' });
});

test('a copy of a primary takes no entries, and no replica takes deliveries', async () => {
  const log = new SharedLog({
    log: NO_LOG,
    engine: null,
    origin: 'https://primary',
    appliedSeq: () => 0,
  });
  await expect(log.appendEntry(entry)).rejects.toMatchObject({ kind: 'is_copy' });
  await expect(log.appendDelivery()).rejects.toMatchObject({ kind: 'is_copy' });
});

test('s0 is what was applied two seconds ago by the stopwatch, whatever the stamps say', () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  let applied = 10;
  const log = sharedLog(
    () => Promise.reject(new Error('unused')),
    () => applied,
  );
  expect(log.s0).toBe(0);
  const noted: number[] = [];
  for (let ms = 0; ms < 5_000; ms += 100) {
    vi.advanceTimersByTime(100);
    applied += 1;
    noted.push(log.s0);
  }
  // Never more than what was applied 2 s before, and not much less.
  for (const [i, s0] of noted.entries()) {
    expect(s0).toBeLessThanOrEqual(Math.max(0, 11 + i - 20));
    if (i >= 25) expect(s0).toBeGreaterThanOrEqual(11 + i - 20 - 4);
  }
  // Nothing is applied for a while: it comes up to what is there.
  vi.advanceTimersByTime(2_250);
  expect(log.s0).toBe(applied);
  log.giveUp(new StoreError('closed', 'it stops'), { forGood: true });
  expect(vi.getTimerCount()).toBe(0);
});
