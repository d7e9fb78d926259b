/** Failed threads are restarted (docs/architecture.md#start). */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Mirror, type ApplyThread } from '../../src/mirror/mirror.ts';
import type { DamagedFile, NewEpoch } from '../../src/mirror/start.ts';
import type { ApplyCalls, ApplyEvent } from '../../src/mirror/writer/serve-apply.ts';
import type { Thread } from '../../src/platform/thread.ts';
import { SqliteFault, type PlainError } from '../../src/sqlite/errors.ts';
import type { Db } from '../../src/sqlite/open.ts';
import type { Reply, Request } from '../../src/sqlite/worker.ts';
import { present } from '../shared/present.ts';
import { newPath, readerDb, readInput, T0, writerDb } from './mirror-file.ts';
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

const DISK: PlainError = { kind: 'cannot_commit', message: 'the disk has failed' };
const POSITION = { inboxSeq: 3, inputSeq: 9, changeSeq: 5, trustedAfterMs: 0 };

let applying: { readonly thread: Apply; readonly damaged: DamagedFile | null }[];
let openReader: () => Db;
let faults: (string | null)[];
let nowMs: number;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  [applying, faults, nowMs] = [[], [], T0];
  const path = newPath();
  writerDb(path);
  openReader = () => readerDb(path);
});
afterEach(() => void vi.useRealTimers());

const files = {
  apply: ({ damaged }: { readonly damaged: DamagedFile | null }): ApplyThread => {
    const thread: Apply = new Scripted();
    applying.push({ thread, damaged });
    return thread;
  },
  openReader: (): Db => openReader(),
};

const events = {
  onOpened: () => undefined,
  onFault: (fault: SqliteFault | null) => void faults.push(fault?.message ?? null),
};

function start(): Mirror {
  const mirror = new Mirror(files, events, () => nowMs);
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

test('restarts the thread after it fails, with pauses doubling up to 10 s', async () => {
  start();
  opens();
  const pauses: number[] = [];
  for (let n = 0; n < 8; n += 1) {
    const failing = applier();
    fails();
    pauses.push(await pause());
    expect(failing.ended).toBe('by itself');
  }
  expect(pauses).toEqual([1, 2, 4, 8, 10, 10, 10, 10].map((seconds) => seconds * 1_000));
  opens();
  commits();
  await vi.advanceTimersByTimeAsync(60_001);
  applier().end(new Error('out of memory'));
  expect(await pause()).toBe(1_000);
  expect(faults).toEqual([DISK.message, null, 'the mirror’s apply thread has ended: out of memory']);
});

test('terminates only a thread that does not end in time: within SQLite, the process would end with it', async () => {
  start();
  opens();
  const failing = applier();
  failing.hangs = true;
  fails();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(failing.ended).toBeNull();
  await pause();
  expect(failing.ended).toBe('terminated');
});

test('asks for due reads before everything that readers have asked', async () => {
  const mirror = start();
  opens();
  const answered: string[] = [];
  const readers = Array.from({ length: 10 }, () => mirror.ask('lag').then(() => answered.push('lag')));
  await readers[0];
  const due = { nowMs: T0, limit: 1, exclude: [], turnBeforeMs: null, scheduled: 0 };
  const own = mirror.ask('nextReads', due).then(() => answered.push('nextReads'));
  await Promise.all([...readers, own]);
  expect(answered.indexOf('nextReads')).toBe(1);
});

test('refuses calls with the fault while it has failed', async () => {
  const mirror = start();
  const asked = mirror.ask('status');
  opens();
  const underWay = mirror.append(missedAt(T0));
  fails();
  fails({ kind: 'busy', message: 'a late message of the same thread' });
  const later = [
    mirror.ask('status'),
    mirror.command('retryFailures', undefined),
    mirror.append(missedAt(T0)),
  ];
  const rejected = { status: 'rejected', reason: expect.objectContaining(DISK) as unknown };
  expect(await Promise.allSettled([asked, underWay, ...later])).toMatchObject(Array(5).fill(rejected));
  await pause();
  expect(mirror.fault?.message).toBe(DISK.message);
  opens();
  commits();
  expect([mirror.fault, mirror.position]).toEqual([null, POSITION]);
  expect(applier().posted).toMatchObject([{ name: 'arrived' }]);
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
  const asked = mirror.ask('status');
  expect(await asked).toMatchObject({ epoch: expect.any(String) as string });
});

test('refuses a read that was sent before the clock stepped back', async () => {
  const mirror = start();
  opens();
  const read = (sentAtMs: number) => mirror.append(readInput('10', null, { sentAtMs }));
  await expect(read(nowMs + 1)).rejects.toMatchObject({ kind: 'closed' });
  expect(applier().posted).toMatchObject([{ name: 'arrived' }]);
  void read(nowMs).catch(() => undefined);
  await expect.poll(() => applier().posted).toHaveLength(2);
});

test('checks the whole file only at the start after damage', async () => {
  const mirror = start();
  opens();
  openReader = () => {
    throw new SqliteFault('damaged', 'malformed');
  };
  const asked = mirror.ask('status');
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
  await expect.poll(() => applier().posted).toHaveLength(2);
  const transaction = (inboxSeq: number): void =>
    applier().tell({ event: { type: 'applied', position: { ...POSITION, inboxSeq }, reports: [] } });
  transaction(4);
  applier().tell({ id: 1, value: { seq: 10, facts: [] } });
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
  await vi.advanceTimersByTimeAsync(100_000);
  expect(applying).toHaveLength(1);
  await expect(mirror.ask('status')).rejects.toMatchObject({ kind: 'closed' });
});

test('opens the file again when it is asked to', async () => {
  const mirror = start();
  opens();
  mirror.reopen(new SqliteFault('closed', 'the clock steps back'));
  await expect(mirror.ask('status')).rejects.toMatchObject({ kind: 'closed' });
  const closing = applier();
  await expect.poll(() => closing.posted).toHaveLength(2);
  expect(closing.posted).toMatchObject([{ name: 'arrived' }, { name: 'close' }]);
  closing.tell({ id: 1, value: undefined });
  await pause();
  opens();
  commits();
  expect(faults).toEqual(['the clock steps back', null]);
});
