/** The mark beside the database while the store is open, and files that go away under it. */
import Database from 'better-sqlite3';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventLogPath } from '../../src/event-log/open-log.ts';
import { HighWaterMarkKeeper } from '../../src/event-log/high-water-mark.ts';
import type { StoreNews } from '../../src/mirror/writer/upkeep.ts';
import { present } from '../shared/present.ts';
import { eventually } from '../process/wait.ts';
import { run } from '../mirror/child.ts';
import {
  delivery,
  item,
  newPath,
  readerDb,
  storeAt,
  T0,
  values,
  type OpenStore,
} from '../mirror/mirror-file.ts';

interface HighWaterMarkFile {
  readonly epoch: string;
  readonly changeSeq: number;
  readonly logSeq: number;
}

const highWaterMarkOf = (path: string): HighWaterMarkFile =>
  JSON.parse(readFileSync(`${path}.mark`, 'utf8')) as HighWaterMarkFile;

test('it follows what is committed, and a clean stop leaves it exact', async () => {
  const store = await storeAt();
  const db = readerDb(store.path);
  const [epoch] = values<string>(db, 'SELECT epoch FROM mirror_status');
  await eventually(() => existsSync(`${store.path}.mark`), { what: 'the mark is written' });
  expect(highWaterMarkOf(store.path)).toMatchObject({ epoch, changeSeq: 0, logSeq: 0 });
  await store.writer.appendDelivery(delivery('a', item()), T0);
  await eventually(() => highWaterMarkOf(store.path).logSeq === 1, {
    what: 'the mark follows',
  });

  // Nothing to tell: the file is not written again.
  const { ino, ctimeMs } = statSync(`${store.path}.mark`);
  await store.writer.command('alive', { atMs: T0 });
  const writtenMs = performance.now();
  await eventually(() => performance.now() > writtenMs + 1_500, { what: 'the next turn' });
  expect(statSync(`${store.path}.mark`)).toMatchObject({ ino, ctimeMs });

  const waiting = ['b', 'c', 'd'].map((id) => store.writer.appendDelivery(delivery(id, item({ id })), T0));
  await store.close();
  await Promise.all(waiting);
  // What was appended last may be left for the next start to apply.
  const [changeSeq, logSeq] = ['change_seq', 'applied_seq'].flatMap((column) =>
    values<number>(db, `SELECT ${column} FROM mirror_state`),
  );
  expect(highWaterMarkOf(store.path)).toMatchObject({ epoch, changeSeq, logSeq });
});

test('a kill -9 leaves it behind or equal, and the next start goes on', async () => {
  const path = newPath();
  const child = run('append-forever.ts', path);
  await child.nextLine();
  await eventually(() => existsSync(`${path}.mark`), { what: 'the mark is written' });
  const first = highWaterMarkOf(path);
  await eventually(() => highWaterMarkOf(path).logSeq > first.logSeq, { what: 'the mark moves' });
  await child.kill();
  const killed = highWaterMarkOf(path);
  const news: StoreNews[] = [];
  await storeAt(path, { onNews: (one) => void news.push(one) });
  expect(news).toEqual([]);
  const db = readerDb(path);
  expect(values(db, 'SELECT epoch FROM mirror_status')).toEqual([killed.epoch]);
  expect(killed.logSeq).toBeLessThanOrEqual(present(values<number>(db, 'SELECT max(seq) FROM log')[0]));
});

test('an older mirror, while it is made whole from the event log, does not move it back', async () => {
  const store = await storeAt();
  await store.writer.appendDelivery(delivery('a', item()), T0);
  await store.writer.appendDelivery(delivery('b', item({ id: '2' })), T0);
  await store.close();
  const { epoch, changeSeq } = highWaterMarkOf(store.path);
  const db = new Database(store.path);
  const keeper = new HighWaterMarkKeeper(db, store.path);
  const keptAt = (position: string): HighWaterMarkFile => {
    db.exec(`UPDATE mirror_state SET ${position}`);
    expect(keeper.keep()).toBeNull();
    return highWaterMarkOf(store.path);
  };
  expect(keptAt('applied_seq = 1, change_seq = 1')).toMatchObject({ epoch, changeSeq, logSeq: 2 });
  expect(keptAt('applied_seq = 3, change_seq = 1')).toMatchObject({ epoch, changeSeq, logSeq: 3 });
  // Older still: of the epoch before.
  db.exec(`UPDATE service_state SET epoch = 'before'`);
  expect(keptAt('applied_seq = 0, change_seq = 0')).toMatchObject({ epoch, changeSeq, logSeq: 3 });
  db.exec(`UPDATE service_state SET epoch = 'after'`);
  expect(keptAt(`applied_seq = 4, change_seq = ${changeSeq + 1}`)).toMatchObject({
    epoch: 'after',
    changeSeq: changeSeq + 1,
    logSeq: 4,
  });
  db.close();
});

test('one that cannot be written is told of, at the start, while it runs, and at the end', async () => {
  const path = newPath();
  mkdirSync(`${path}.mark`);
  const news: StoreNews[] = [];
  const store = await storeAt(path, { onNews: (one) => void news.push(one) });
  expect(news.map(({ type }) => type)).toEqual(['mark_failed']);
  expect(await store.writer.appendDelivery(delivery('a', item()), T0)).toMatchObject({ seq: 1 });
  await eventually(() => news.length === 2, { what: 'it is told again' });
  expect(news[1]).toMatchObject({ type: 'mark_failed', path: `${path}.mark` });
  await store.close();
  expect(news).toHaveLength(3);
  expect(store.deaths).toEqual([]);
});

/** With every thread at work: none must find the file gone when it opens it. */
async function storeAtWork(): Promise<OpenStore> {
  const store = await storeAt();
  await store.writer.appendDelivery(delivery('a', item()), T0);
  await eventually(() => existsSync(`${store.path}.mark`) && highWaterMarkOf(store.path).logSeq === 1, {
    what: 'the projection runs',
  });
  await store.reader.ask('lastFullSync');
  return store;
}

async function expectDeath(store: OpenStore, path: string): Promise<void> {
  await eventually(() => store.deaths.length === 1, { what: 'the owner is told' });
  expect(store.deaths[0]?.message).toContain(`another program deleted, moved or replaced ${path} while`);
}

const ENDS: [string, (path: string) => void][] = [
  ['deleted', (path) => rmSync(path)],
  ['moved away', (path) => renameSync(path, `${path}.away`)],
  [
    'replaced',
    (path) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  ],
];

test.each(ENDS)(
  'an event log that is %s while it is open ends the store, and history starts again',
  async (_name, happen) => {
    const store = await storeAtWork();
    happen(eventLogPath(store.path));
    await expectDeath(store, eventLogPath(store.path));
    await store.close();
    const news: StoreNews[] = [];
    await storeAt(store.path, { onNews: (one) => void news.push(one) });
    expect(news).toMatchObject([{ type: 'new_epoch' }]);
  },
);

test.each<[string, (path: string) => string]>([
  ['the event log’s -wal', (path) => `${eventLogPath(path)}-wal`],
  ['the event log’s -shm', (path) => `${eventLogPath(path)}-shm`],
])(
  '%s deleted while it is open ends the store, with the reason, and nothing is lost',
  async (_name, fileOf) => {
    const store = await storeAtWork();
    rmSync(fileOf(store.path));
    await store.writer.appendDelivery(delivery('b', item({ id: '101' })), T0);
    await expectDeath(store, fileOf(store.path));
    // What a kill leaves when nothing but the event log is there.
    const left = newPath();
    for (const end of ['', '-wal']) {
      const file = eventLogPath(store.path) + end;
      if (existsSync(file)) copyFileSync(file, eventLogPath(left) + end);
    }
    const db = new Database(eventLogPath(left));
    expect(db.prepare('SELECT count(*) FROM log').pluck().get()).toBe(2);
    db.close();
  },
);
