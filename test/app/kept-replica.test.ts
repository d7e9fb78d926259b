/** A replica is begun anew from a snapshot whenever its files cannot be continued, and only then. */
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keepReplica } from '../../src/app/kept-replica.ts';
import type { Replica } from '../../src/app/replica.ts';
import { TransportError } from '../../src/replication/transport.ts';
import { StoreError } from '../../src/sqlite/errors.ts';
import { eventually } from '../process/wait.ts';

function keeping(over: Partial<Parameters<typeof keepReplica>[0]> = {}) {
  const did: string[] = [];
  const lives: PromiseWithResolvers<'unfit'>[] = [];
  const stopping = new AbortController();
  const running = keepReplica(
    {
      start: () => {
        const life = Promise.withResolvers<'unfit'>();
        lives.push(life);
        did.push('started');
        const replica = {
          ended: life.promise,
          needsSnapshot: false,
          stop: () => {
            did.push('stopped');
            return Promise.resolve();
          },
        };
        return Promise.resolve(replica as unknown as Replica);
      },
      reserve: () => null,
      mayBeginEmpty: false,
      fetch: () => Promise.resolve({ ...PLACED, putInPlace: () => void did.push('replaced') }),
      onChange: (replica, why) => {
        if (replica === null) did.push(`none: ${why}`);
        else did.push(why === '' ? 'shown' : `shown: ${why}`);
      },
      log: pino({ level: 'silent' }),
      ...over,
    },
    stopping.signal,
  );
  running.catch(() => undefined);
  onTestFinished(() => stopping.abort());
  return { did, lives, stopping, running };
}

const PLACED = { putInPlace: () => undefined, discard: () => undefined };
const REPLACING = 'none: the mirror is being replaced by a snapshot';

test('its files are closed before they are replaced, and nobody is shown them meanwhile', async () => {
  const { did, lives, stopping, running } = keeping();
  await eventually(() => did.includes('shown'), { what: 'it runs' });
  lives[0]?.resolve('unfit');
  await eventually(() => did.filter((what) => what === 'shown').length === 2, { what: 'it runs again' });
  expect(did).toEqual(['started', 'shown', REPLACING, 'stopped', 'replaced', 'started', 'shown']);
  stopping.abort();
  await running;
  expect(did.slice(-2)).toEqual([REPLACING, 'stopped']);
});

test('files that do not belong together are replaced, and it says what it waits for', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const found = [
    () => Promise.resolve(null),
    () => Promise.reject(new TransportError('cut off')),
    () => Promise.resolve(PLACED),
  ];
  let starts = 0;
  const start = vi.fn(() => {
    starts += 1;
    return starts === 1
      ? Promise.reject(new StoreError('unfit_copy', 'apart'))
      : new Promise<never>(() => undefined);
  });
  const { did } = keeping({ start, fetch: () => found.shift()?.() ?? Promise.resolve(PLACED) });
  await vi.advanceTimersByTimeAsync(4_000);
  expect(did).toEqual([
    expect.stringContaining('waiting for the lead to upload a snapshot'),
    'none: cut off',
  ]);
  expect(start).toHaveBeenCalledTimes(2);
});

/** Files that hold nothing yet, until a snapshot is put into them. */
function emptyFiles() {
  let isHeld = false;
  let isEmpty = true;
  return {
    get isHeld() {
      return isHeld;
    },
    reserve: () => {
      isHeld = isEmpty;
      return isEmpty ? () => void (isHeld = false) : null;
    },
    snapshot: { ...PLACED, putInPlace: () => void (isEmpty = false) },
  };
}

test('a new copy begins with a snapshot, however long that is not to be had; until then there is no mirror, only the reason', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const files = emptyFiles();
  let isReached = false;
  const fetch = vi.fn(() =>
    isReached ? Promise.resolve(files.snapshot) : Promise.reject(new TransportError('cut off')),
  );
  const { did } = keeping({ reserve: files.reserve, fetch });
  await vi.advanceTimersByTimeAsync(60 * 60_000);
  expect(did).toEqual([expect.stringContaining('fetches its first snapshot'), 'none: cut off']);
  expect(files.isHeld).toBe(true);
  // Each may cost the primary a copy of its files.
  expect(fetch.mock.calls.length).toBeLessThan(70);
  isReached = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(did.slice(2)).toEqual(['started', 'shown']);
  expect(files.isHeld).toBe(false);
});

test('a first machine of an engine begins empty: at once where there is no snapshot, and where none can be had, after a while', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const none = keeping({
    reserve: emptyFiles().reserve,
    mayBeginEmpty: true,
    fetch: () => Promise.resolve(null),
  });
  await vi.advanceTimersByTimeAsync(10);
  expect(none.did.slice(1)).toEqual(['started', 'shown']);
  const broken = keeping({
    reserve: emptyFiles().reserve,
    mayBeginEmpty: true,
    fetch: () => Promise.reject(new TransportError('damaged')),
  });
  await vi.advanceTimersByTimeAsync(50_000);
  expect(broken.did.slice(1)).toEqual(['none: damaged']);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(broken.did.slice(2)).toEqual(['started', 'shown']);
});

test.each([
  ['a full disk', new StoreError('no_room', 'no room on its disk')],
  ['any other fault', new Error('no room on its disk')],
])('%s while a snapshot is fetched is told, and passes', async (_what, error) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const files = emptyFiles();
  let isFull = true;
  const { did } = keeping({
    reserve: files.reserve,
    fetch: () => (isFull ? Promise.reject(error) : Promise.resolve(files.snapshot)),
  });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(did.slice(1)).toEqual(['none: no room on its disk']);
  isFull = false;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(did.slice(2)).toEqual(['started', 'shown']);
});

test('a replica that is shown meanwhile says why its snapshot is not here', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const needing = {
    ended: new Promise<never>(() => undefined),
    needsSnapshot: true,
    stop: () => Promise.resolve(),
  };
  const { did } = keeping({
    start: () => Promise.resolve(needing as unknown as Replica),
    fetch: () => Promise.reject(new StoreError('no_room', 'no room on its disk')),
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(did).toEqual(['shown', 'shown: no room on its disk']);
});

test('a snapshot that is fetched when nobody wants it any more is not left behind', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const discarded: string[] = [];
  const fetches: PromiseWithResolvers<typeof PLACED>[] = [];
  const needing = {
    ended: new Promise<never>(() => undefined),
    needsSnapshot: true,
    stop: () => Promise.resolve(),
  };
  const { stopping, running } = keeping({
    start: () => Promise.resolve(needing as unknown as Replica),
    fetch: () => {
      const asked = Promise.withResolvers<typeof PLACED>();
      fetches.push(asked);
      return asked.promise;
    },
  });
  await vi.advanceTimersByTimeAsync(1_000);
  stopping.abort();
  const stopped = vi.fn();
  void running.then(stopped);
  await vi.advanceTimersByTimeAsync(100);
  expect(stopped).not.toHaveBeenCalled();
  fetches[0]?.resolve({ ...PLACED, discard: () => void discarded.push('it') });
  await vi.advanceTimersByTimeAsync(10);
  expect(discarded).toEqual(['it']);
  expect(stopped).toHaveBeenCalled();
  expect(fetches).toHaveLength(1);
});

test('a stop does not wait for ever for what cannot be broken off', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { stopping, running } = keeping({
    reserve: emptyFiles().reserve,
    fetch: () => new Promise(() => undefined),
  });
  await vi.advanceTimersByTimeAsync(10);
  stopping.abort();
  await vi.advanceTimersByTimeAsync(2_000);
  await running;
});

test.each<[string, Partial<Parameters<typeof keepReplica>[0]>]>([
  ['that cannot be had', { start: () => Promise.reject(new StoreError('in_use', 'another has them')) }],
  [
    'that are a mirror of its own',
    {
      start: () => Promise.reject(new StoreError('unfit_copy', 'apart')),
      fetch: () => Promise.reject(new StoreError('not_a_copy', 'its own')),
    },
  ],
])('files %s end it', async (_what, over) => {
  await expect(keeping(over).running).rejects.toBeInstanceOf(StoreError);
});

test('a fault of a replica is told once it is closed', async () => {
  const { did, lives, running } = keeping();
  await eventually(() => lives.length === 1, { what: 'it runs' });
  lives[0]?.reject(new Error('a fault'));
  await expect(running).rejects.toThrow('a fault');
  expect(did.at(-1)).toBe('stopped');
});
