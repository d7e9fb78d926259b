/** One replica at a time reads from the store; two for a moment do no harm. */
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Lead } from '../../src/replication/lead.ts';
import { TransportError, type Lease } from '../../src/replication/transport.ts';

/** A lease that is granted, and renewed as the test says. */
function leaseOf(over: Partial<Lease> = {}) {
  const lease = {
    take: vi.fn<Lease['take']>(() => Promise.resolve(1)),
    renew: vi.fn((_holder: string, revision: number) => Promise.resolve<number | null>(revision + 1)),
    release: vi.fn((_revision: number) => Promise.resolve()),
  };
  return Object.assign(lease, over);
}

function leading(lease: Lease, over: Partial<ConstructorParameters<typeof Lead>[0]> = {}) {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const terms: AbortSignal[] = [];
  const lead = new Lead({
    lease,
    name: 'me',
    isFit: () => true,
    lead: (signal) => {
      terms.push(signal);
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    },
    log: pino({ level: 'silent' }),
    ...over,
  });
  const stopping = new AbortController();
  const running = lead.run(stopping.signal);
  return { lead, terms, stopping, running };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('it renews by the revision that it has, and gives back the last one', async () => {
  const lease = leaseOf();
  const { lead, terms, stopping, running } = leading(lease);
  await pass(9_000);
  expect(lease.renew.mock.calls).toEqual([
    ['me', 1],
    ['me', 2],
    ['me', 3],
    ['me', 4],
  ]);
  expect([lead.isLeading, terms.length]).toEqual([true, 1]);
  stopping.abort();
  await running;
  expect(lease.release.mock.calls).toEqual([[5]]);
  expect([lead.isLeading, terms[0]?.aborted, vi.getTimerCount()]).toEqual([false, true, 0]);
});

test('whoever does not get it asks once a second', async () => {
  const lease = leaseOf({ take: vi.fn(() => Promise.resolve(null)) });
  const { lead, terms, stopping, running } = leading(lease);
  await pass(2_500);
  expect([lead.isLeading, terms.length, lease.take.mock.calls]).toEqual([false, 0, [['me'], ['me'], ['me']]]);
  stopping.abort();
  await running;
});

test('one that is not fit does not ask for it', async () => {
  const lease = leaseOf();
  const { stopping, running } = leading(lease, { isFit: () => false });
  await pass(3_000);
  expect(lease.take).not.toHaveBeenCalled();
  stopping.abort();
  await running;
});

test('a renewal that another one has come before ends it at once', async () => {
  const lease = leaseOf({ renew: vi.fn(() => Promise.resolve(null)) });
  const { terms, stopping, running } = leading(lease);
  await pass(2_000);
  expect(terms[0]?.aborted).toBe(true);
  stopping.abort();
  await running;
});

test.each([
  ['hangs', () => new Promise<never>(() => undefined)],
  ['fails', () => Promise.reject(new TransportError('unreachable'))],
])(
  'a renewal that %s: it steps down at 70 %% of the lease, before another may have it',
  async (_how, renew) => {
    const lease = leaseOf({ renew: vi.fn(renew) });
    const { lead, terms, stopping, running } = leading(lease);
    await pass(6_900);
    expect([lead.isLeading, terms[0]?.aborted]).toEqual([true, false]);
    await pass(600);
    expect(terms[0]?.aborted).toBe(true);
    lease.take.mockResolvedValue(null);
    await pass(1_500);
    expect(lead.isLeading).toBe(false);
    stopping.abort();
    await running;
  },
);

test('work that fails gives the lease back, and it is tried again', async () => {
  const lease = leaseOf();
  const { stopping, running } = leading(lease, { lead: () => Promise.reject(new Error('no')) });
  await pass(2_500);
  expect(lease.take.mock.calls.length).toBeGreaterThan(1);
  expect(lease.release).toHaveBeenCalledWith(1);
  stopping.abort();
  await running;
});

test('it ends in time, though the engine does not answer', async () => {
  const never = () => new Promise<never>(() => undefined);
  const { stopping, running } = leading(leaseOf({ renew: vi.fn(never), release: vi.fn(never) }));
  await pass(3_000);
  stopping.abort();
  await pass(600);
  await running;
  expect(vi.getTimerCount()).toBe(0);
});

test('a fault of the program leaves no timer, and is told', async () => {
  const { running, terms } = leading(leaseOf({ renew: vi.fn(() => Promise.reject(new Error('a fault'))) }));
  const failed = expect(running).rejects.toThrow('a fault');
  await pass(2_500);
  await failed;
  expect([terms[0]?.aborted, vi.getTimerCount()]).toEqual([true, 0]);
});
