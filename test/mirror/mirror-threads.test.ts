/** The start rule on real files, at a start and while running. */
import { copyFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { eventLogPath } from '../../src/event-log/open-log.ts';
import type { NewEpoch } from '../../src/mirror/writer/own-mirror.ts';
import { eventually } from '../process/wait.ts';
import { delivery, detail, item, logAt, readEntry, storeAt, T0, type OpenStore } from './mirror-file.ts';

interface Served extends OpenStore {
  readonly epochs: NewEpoch[];
}

async function serve(path?: string): Promise<Served> {
  const epochs: NewEpoch[] = [];
  const store = await storeAt(path, { onNewEpoch: (newEpoch) => void epochs.push(newEpoch) });
  return { ...store, epochs };
}

/** A mirror with changes, whose event log knows that they were handed out. */
async function filled(): Promise<Served> {
  const store = await serve();
  const found = detail('10', [{ id: '100', levels: { 1: 5 } }]);
  await store.writer.append(readEntry('10', found, { sentAtMs: T0 - 60_000, s0: 0 }));
  await deliver(store, 'a', 5, 4);
  return store;
}

async function deliver({ writer }: Served, requestId: string, old: number, to: number): Promise<void> {
  await writer.appendDelivery(delivery(requestId, item({ old, new: to })), T0);
  await writer.command('settle', undefined);
  await writer.beat(T0);
}

const statusOf = async ({ reader }: Served) => {
  const { epoch, last_seq } = await reader.ask('status');
  return { epoch, last_seq };
};

type Damage = (path: string, older: string) => void;

const AT_START: readonly [string, string | RegExp, Damage][] = [
  ['deleted', 'there is no mirror', (path) => rmSync(path)],
  ['truncated', /damaged|no such table|not a SQLite database/, (path) => truncateSync(path, 5_000)],
  ['overwritten with text', /is not a SQLite database/, (path) => writeFileSync(path, 'text'.repeat(2_000))],
  [
    'an older copy',
    'the mirror is older than the changes that were handed out',
    (path, older) => copyFileSync(older, path),
  ],
  [
    'a foreign database',
    /belongs to another program/,
    (path) => {
      rmSync(path);
      new Database(path).exec('CREATE TABLE mine (x)').close();
    },
  ],
];

test.each(AT_START)('a start with a mirror that is %s begins a new epoch', async (_, why, damage) => {
  const first = await filled();
  const { path } = first;
  await first.close();
  copyFileSync(path, `${path}.older`);
  const second = await serve(path);
  expect(second.epochs).toEqual([]);
  await deliver(second, 'b', 4, 3);
  const before = await statusOf(second);
  await second.close();
  for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
  damage(path, `${path}.older`);
  const found = existsSync(path) ? readFileSync(path) : null;

  const third = await serve(path);
  expect(third.epochs).toMatchObject([{ isFirst: false, aside: found === null ? null : `${path}.aside` }]);
  expect(third.epochs[0]?.why).toMatch(why);
  if (found !== null) expect(readFileSync(`${path}.aside`).length).toBe(found.length);
  // The last deliveries are applied again: a read may not show them yet.
  await deliver(third, 'c', 3, 2);
  const after = await statusOf(third);
  expect(after.epoch).not.toBe(before.epoch);
  expect(after.last_seq).toBeGreaterThan(before.last_seq);
  await third.close();
  const fourth = await serve(path);
  expect(fourth.epochs).toEqual([]);
  expect(await statusOf(fourth)).toEqual(after);
});

test('an event log that is lost begins a new epoch above the numbers of the mirror', async () => {
  const first = await filled();
  const before = await statusOf(first);
  await first.close();
  for (const side of ['', '-wal', '-shm']) rmSync(eventLogPath(first.path) + side, { force: true });
  const second = await serve(first.path);
  expect(second.epochs).toMatchObject([{ isFirst: false }]);
  await deliver(second, 'b', 4, 3);
  expect((await statusOf(second)).last_seq).toBeGreaterThan(before.last_seq);
});

test('an older event log that has grown again begins a new epoch', async () => {
  const first = await filled();
  await first.close();
  const logPath = eventLogPath(first.path);
  copyFileSync(logPath, `${logPath}.older`);
  const second = await serve(first.path);
  await deliver(second, 'b', 4, 3);
  await second.close();
  copyFileSync(`${logPath}.older`, logPath);
  for (const side of ['-wal', '-shm']) rmSync(logPath + side, { force: true });
  const lock = new Database(first.path);
  onTestFinished(() => void lock.close());
  lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  const epochs: NewEpoch[] = [];
  const { writer, opened } = await logAt(first.path, {
    onNewEpoch: (newEpoch) => void epochs.push(newEpoch),
  });
  await expect(opened).rejects.toMatchObject({ kind: 'busy' });
  for (const id of ['c', 'd', 'e']) await writer.appendDelivery(delivery(id, item()), T0);
  lock.close();
  await eventually(() => writer.stuck === null, { what: 'the mirror is open' });
  expect(epochs).toMatchObject([{ why: 'the mirror is ahead of the event log' }]);
});

test('a mirror that cannot be written at a start is opened as soon as it can, and deliveries are kept meanwhile', async () => {
  const first = await filled();
  const before = await statusOf(first);
  await first.close();
  const lock = new Database(first.path);
  onTestFinished(() => void lock.close());
  lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  const { writer, reader, opened } = await logAt(first.path);
  await expect(opened).rejects.toMatchObject({ kind: 'busy' });
  expect(writer.stuck).toMatchObject({ kind: 'busy', message: expect.stringContaining(first.path) });
  await expect(reader.ask('status')).rejects.toMatchObject({ kind: 'busy' });
  expect(await writer.appendDelivery(delivery('b', item({ old: 4, new: 3 })), T0)).toMatchObject({
    duplicate: false,
  });
  lock.close();
  await eventually(() => writer.stuck === null, { what: 'the mirror is open' });
  await writer.command('settle', undefined);
  expect((await reader.ask('status')).last_seq).toBeGreaterThan(before.last_seq);
});

test('a mirror that is deleted while it runs begins a new epoch, and no delivery is refused', async () => {
  const store = await filled();
  const before = await statusOf(store);
  rmSync(store.path);
  await eventually(() => store.writer.stuck !== null, { what: 'the loss is known' });
  expect(store.writer.stuck?.message).toContain(`${store.path} while the mirror had it open`);
  await expect(store.reader.ask('status')).rejects.toMatchObject({ kind: 'cannot_commit' });
  await store.writer.appendDelivery(delivery('b', item({ old: 4, new: 3 })), T0);
  await eventually(() => store.writer.stuck === null, { what: 'the mirror is open again' });
  expect(store.epochs).toMatchObject([{ isFirst: true }, { why: 'there is no mirror', isFirst: false }]);
  await store.writer.command('settle', undefined);
  const after = await statusOf(store);
  expect(after.epoch).not.toBe(before.epoch);
  expect(after.last_seq).toBeGreaterThan(before.last_seq);
  expect(store.deaths).toEqual([]);
});

test('a mirror whose damage shows only while it runs is moved aside', async () => {
  const first = await filled();
  await first.close();
  const db = new Database(first.path);
  const page = db
    .prepare(`SELECT rootpage FROM sqlite_master WHERE name = 'stock_levels'`)
    .pluck()
    .get() as number;
  db.close();
  const bytes = readFileSync(first.path);
  bytes.fill(0x5a, (page - 1) * 4_096, page * 4_096);
  writeFileSync(first.path, bytes);

  const store = await serve(first.path);
  expect(store.epochs).toEqual([]);
  await store.writer.appendDelivery(delivery('b', item({ old: 4, new: 3 })), T0);
  await eventually(() => store.epochs.length > 0, { what: 'a new epoch' });
  expect(store.epochs).toMatchObject([
    { why: expect.stringContaining('damaged'), aside: `${first.path}.aside` },
  ]);
  expect(store.deaths).toEqual([]);
});
