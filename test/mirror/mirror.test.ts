/** Failed threads are restarted (docs/architecture.md#start). */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Mirror, type ApplyThread, type QueryThread } from '../../src/mirror/mirror.ts';
import type { DamagedFile, NewEpoch } from '../../src/mirror/start.ts';
import type { ApplyCalls, ApplyEvent } from '../../src/mirror/writer/serve-apply.ts';
import type { Thread } from '../../src/platform/thread.ts';
import { SqliteFault, type PlainError } from '../../src/sqlite/errors.ts';
import type { Reply, Request } from '../../src/sqlite/worker.ts';
import { present } from '../shared/present.ts';
import { readInput, T0 } from './mirror-file.ts';
import { missedAt } from '../core/builders.ts';

class Scripted<In extends { readonly name: string }, Out> implements Thread<In, Out> {
  readonly posted: In[] = [];
  /** It does not end by itself. */
  hangs = false;
  ended: 'by itself' | 'terminated' | null = null;
  tell: (message: Out) => void = () => undefined;
  end: (cause: Error) => void = () => undefined;

  post(message: In): void {
    this.posted.push(message);
    if (message.name === 'end' && !this.hangs) this.#end('by itself');
  }
  onMessage(listener: (message: Out) => void): void {
    this.tell = listener;
  }
  onEnd(listener: (cause: Error) => void): void {
    this.end = listener;
  }
  stop(): Promise<void> {
    this.#end('terminated');
    return Promise.resolve();
  }
  #end(how: 'by itself' | 'terminated'): void {
    this.ended = how;
    this.end(new Error(how));
  }
}

type Apply = Scripted<Request<ApplyCalls>, Reply<ApplyEvent>>;
type Query = Scripted<Parameters<QueryThread['post']>[0], Reply<never>>;

const DISK: PlainError = { kind: 'cannot_commit', message: 'the disk has failed' };
const POSITION = { inboxSeq: 3, inputSeq: 9, changeSeq: 5, trustedAfterMs: 0 };

let applying: { readonly thread: Apply; readonly damaged: DamagedFile | null }[];
let querying: Query[];
let faults: (string | null)[];
let nowMs: number;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  [applying, querying, faults, nowMs] = [[], [], [], T0];
});
afterEach(() => void vi.useRealTimers());

const threads = {
  apply: ({ damaged }: { readonly damaged: DamagedFile | null }): ApplyThread => {
    const thread: Apply = new Scripted();
    applying.push({ thread, damaged });
    return thread;
  },
  query: (): QueryThread => {
    const thread: Query = new Scripted();
    querying.push(thread);
    return thread;
  },
};

const events = {
  onOpened: () => undefined,
  onFault: (fault: SqliteFault | null) => void faults.push(fault?.message ?? null),
};

function start(): Mirror {
  const mirror = new Mirror(threads, events, () => nowMs);
  mirror.open();
  return mirror;
}

const applier = (): Apply => present(applying.at(-1)).thread;
const opens = (newEpoch: NewEpoch | null = null): void =>
  applier().tell({ event: { type: 'opened', position: POSITION, newEpoch } });
const commits = (): void => applier().tell({ event: { type: 'applied', position: POSITION, reports: [] } });
const fails = (error = DISK, damaged: DamagedFile | null = null): void =>
  applier().tell({ event: { type: 'failed', error, damaged } });

async function pause(): Promise<number> {
  const before = applying.length;
  let ms = 0;
  for (; applying.length === before; ms += 500) {
    await vi.advanceTimersByTimeAsync(500);
    if (ms > 100_000) throw new Error('they are not started again');
  }
  return ms;
}

test('restarts both threads after one fails, with pauses doubling up to a minute', async () => {
  start();
  opens();
  const pauses: number[] = [];
  for (let n = 0; n < 8; n += 1) {
    const failing = applier();
    fails();
    pauses.push(await pause());
    expect([failing.ended, querying.at(-2)?.ended]).toEqual(['by itself', 'by itself']);
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000));
  opens();
  commits();
  await vi.advanceTimersByTimeAsync(60_001);
  querying.at(-1)?.end(new Error('out of memory'));
  expect(await pause()).toBe(1_000);
  expect(faults).toEqual([DISK.message, null, 'the mirror’s query thread has ended: out of memory']);
});

test('terminates only a thread that does not end by itself: within SQLite, the process would end with it', async () => {
  start();
  opens();
  const [query] = querying;
  present(query).hangs = true;
  fails();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(present(query).ended).toBeNull();
  await pause();
  expect([present(applying[0]).thread.ended, present(query).ended]).toEqual(['by itself', 'terminated']);
});

test('asks for due reads before everything that readers have asked', async () => {
  const mirror = start();
  opens();
  const answers = Array.from({ length: 10 }, () => mirror.ask('status'));
  await vi.waitUntil(() => present(querying[0]).posted.length > 0);
  const none = { exclude: [], turnBeforeMs: null, scheduled: 0 };
  const due = mirror.ask('nextReads', { nowMs: T0, limit: 1, ...none });
  const { posted, tell } = present(querying[0]);
  const asked = (): string[] => posted.map((each) => (each.name === 'query' ? each.args.name : each.name));
  let isDue = false;
  void due.then(() => (isDue = true));
  for (let n = 0; !isDue; n += 1) {
    await vi.waitUntil(() => posted.length > n);
    tell({ id: present(posted[n]).id, value: null });
    await vi.advanceTimersByTimeAsync(0);
  }
  expect(asked().indexOf('nextReads')).toBeLessThan(3);
  for (let n = 3; n < 11; n += 1) {
    await vi.waitUntil(() => posted.length > n);
    tell({ id: present(posted[n]).id, value: null });
  }
  await Promise.all(answers);
  expect(asked().filter((name) => name === 'status')).toHaveLength(10);
});

test('refuses calls with the fault while it has failed', async () => {
  const mirror = start();
  const asked = mirror.ask('status');
  opens();
  await vi.waitUntil(() => present(querying[0]).posted.length === 1);
  const underWay = mirror.append(missedAt(T0));
  fails();
  fails({ kind: 'busy', message: 'a late message of the same thread' });
  const later = [
    mirror.ask('status'),
    mirror.command('retryFailures', undefined),
    mirror.append(missedAt(T0)),
  ];
  for (const call of [asked, underWay, ...later]) await expect(call).rejects.toMatchObject(DISK);
  expect([mirror.isOpen, mirror.fault?.message]).toEqual([false, DISK.message]);
  await pause();
  expect(mirror.fault?.message).toBe(DISK.message);
  opens();
  commits();
  expect([mirror.isOpen, mirror.fault, mirror.position]).toEqual([true, null, POSITION]);
  expect(applier().posted).toEqual([]);
  expect(faults).toEqual([DISK.message, null]);
});

test('reports a fault of the first commit once until a commit succeeds', async () => {
  const mirror = start();
  for (let n = 0; n < 3; n += 1) {
    opens();
    const beat = mirror.command('retryFailures', undefined);
    fails();
    await expect(beat).rejects.toMatchObject(DISK);
    await pause();
  }
  expect(faults).toEqual([DISK.message]);
  opens();
  commits();
  expect(faults).toEqual([DISK.message, null]);
});

test('reports a failed first opening to its callers and answers after the next', async () => {
  const mirror = start();
  const early = mirror.ask('status');
  fails();
  await mirror.tried;
  await expect(early).rejects.toMatchObject(DISK);
  await pause();
  opens();
  await mirror.opened;
  const asked = mirror.ask('status');
  const query = present(querying[1]);
  await vi.waitUntil(() => query.posted.length === 1);
  query.tell({ id: 0, value: 'the status' });
  expect(await asked).toBe('the status');
});

test('refuses a read that was sent before the clock stepped back', async () => {
  const mirror = start();
  opens();
  const read = (sentAtMs: number) => mirror.append(readInput('10', null, { sentAtMs }));
  await expect(read(nowMs + 1)).rejects.toMatchObject({ kind: 'closed' });
  expect(applier().posted).toEqual([]);
  void read(nowMs).catch(() => undefined);
  await vi.waitUntil(() => applier().posted.length === 1);
});

test('checks the whole file only at the start after damage', async () => {
  const mirror = start();
  opens();
  const asked = mirror.ask('status');
  await vi.waitUntil(() => present(querying[0]).posted.length === 1);
  present(querying[0]).tell({ id: 0, error: { kind: 'damaged', message: 'malformed' } });
  await expect(asked).rejects.toMatchObject({ kind: 'damaged' });
  await pause();
  opens();
  fails();
  await pause();
  fails(DISK, 'mirror');
  await pause();
  expect(applying.map(({ damaged }) => damaged)).toEqual([null, 'mirror', null, 'mirror']);
});

test('calls listeners before the callers of a transaction', async () => {
  const mirror = start();
  opens();
  const heard: unknown[] = [];
  const stop = mirror.onApplied(({ reports }) => void heard.push([reports.length, mirror.position.inboxSeq]));
  const applied = mirror.append(missedAt(T0)).then(() => heard.push('applied'));
  await vi.waitUntil(() => applier().posted.length === 1);
  const transaction = (inboxSeq: number): void =>
    applier().tell({ event: { type: 'applied', position: { ...POSITION, inboxSeq }, reports: [] } });
  transaction(4);
  applier().tell({ id: 0, value: { seq: 10, facts: [] } });
  await applied;
  stop();
  transaction(5);
  expect(heard).toEqual([[0, 4], 'applied']);
  expect(mirror.position.inboxSeq).toBe(5);
});

test('does not restart once closed', async () => {
  const mirror = start();
  fails();
  await vi.advanceTimersByTimeAsync(500);
  await Promise.all([mirror.close(), mirror.close()]);
  await expect(mirror.opened).rejects.toMatchObject({ kind: 'closed' });
  await vi.advanceTimersByTimeAsync(100_000);
  expect(applying).toHaveLength(1);
  await expect(mirror.ask('status')).rejects.toMatchObject({ kind: 'closed' });
});

test('opens the file again when it is asked to', async () => {
  const mirror = start();
  opens();
  mirror.reopen(new SqliteFault('closed', 'the clock steps back'));
  expect(mirror.isOpen).toBe(false);
  const closing = [present(querying[0]), applier()];
  for (const thread of closing) {
    await vi.waitUntil(() => thread.posted.length === 1);
    expect(thread.posted).toMatchObject([{ name: 'close' }]);
    thread.tell({ id: 0, value: undefined });
  }
  await pause();
  opens();
  commits();
  expect(faults).toEqual(['the clock steps back', null]);
});
