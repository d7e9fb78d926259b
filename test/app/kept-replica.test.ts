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
      fetch: () => Promise.resolve({ putInPlace: () => void did.push('replaced') }),
      onChange: (replica, why) => void did.push(replica === null ? `none: ${why}` : 'shown'),
      log: pino({ level: 'silent' }),
      ...over,
    },
    stopping.signal,
  );
  running.catch(() => undefined);
  onTestFinished(() => stopping.abort());
  return { did, lives, stopping, running };
}

const PLACED = { putInPlace: () => undefined };
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
