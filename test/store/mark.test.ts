/** The mark beside the database while the store is open, and a database that goes away under it. */
import Database from 'better-sqlite3';
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { CheckpointNews } from '../../src/store/checkpoint-thread.ts';
import type { HistoryNews } from '../../src/store/epoch.ts';
import { eventually } from '../process/wait.ts';
import { run } from './child.ts';
import { delivery, item, newPath, readerDb, storeAt, T0, values } from './mirror-file.ts';

interface MarkFile {
  readonly epoch: string;
  readonly changeSeq: number;
  readonly logSeq: number;
}

const markOf = (path: string): MarkFile => JSON.parse(readFileSync(`${path}.mark`, 'utf8')) as MarkFile;

test('it follows what is committed, and a clean stop leaves it exact', async () => {
  const store = await storeAt();
  const db = readerDb(store.path);
  const [epoch] = values<string>(db, 'SELECT epoch FROM mirror_status');
  expect(markOf(store.path)).toMatchObject({ epoch, changeSeq: 0, logSeq: 0 });
  await store.writer.appendDelivery(delivery('a', item()), T0);
  await eventually(() => markOf(store.path).logSeq === 1, { what: 'the mark follows', withinMs: 5_000 });

  // Nothing to tell: the file is not written again.
  const { ino, ctimeMs } = statSync(`${store.path}.mark`);
  await store.writer.command('alive', { atMs: T0 });
  const writtenMs = performance.now();
  await eventually(() => performance.now() > writtenMs + 1_500, { what: 'the next turn' });
  expect(statSync(`${store.path}.mark`)).toMatchObject({ ino, ctimeMs });

  const waiting = ['b', 'c', 'd'].map((id) => store.writer.appendDelivery(delivery(id, item({ id })), T0));
  await store.close();
  await Promise.all(waiting);
  const [lastSeq] = values<number>(db, 'SELECT last_seq FROM mirror_status');
  expect(markOf(store.path)).toMatchObject({ epoch, changeSeq: lastSeq, logSeq: 4 });
});

test('a kill -9 leaves it behind or equal, and the next start goes on', async () => {
  const path = newPath();
  const child = run('append-forever.ts', path);
  await child.nextLine();
  const first = markOf(path);
  await eventually(() => markOf(path).logSeq > first.logSeq, { what: 'the mark moves' });
  await child.kill();
  const killed = markOf(path);
  const news: HistoryNews[] = [];
  await storeAt(path, { onHistoryNews: (one) => void news.push(one) });
  expect(news).toEqual([]);
  const db = readerDb(path);
  expect(values(db, 'SELECT epoch FROM mirror_status')).toEqual([killed.epoch]);
  expect(killed.logSeq).toBeLessThanOrEqual(values<number>(db, 'SELECT max(seq) FROM log')[0]!);
});

test('one that cannot be written is told of, at the start, while it runs, and at the end', async () => {
  const path = newPath();
  mkdirSync(`${path}.mark`);
  const news: HistoryNews[] = [];
  const later: CheckpointNews[] = [];
  const store = await storeAt(path, {
    onHistoryNews: (one) => void news.push(one),
    onCheckpointNews: (one) => void later.push(one),
  });
  expect(news.map(({ type }) => type)).toEqual(['mark_failed', 'mark_failed']);
  expect(await store.writer.appendDelivery(delivery('a', item()), T0)).toMatchObject({ seq: 1 });
  await eventually(() => later.length === 1, { what: 'it is told again' });
  expect(later[0]).toMatchObject({ type: 'mark_failed', path: `${path}.mark` });
  await store.close();
  expect(news).toHaveLength(3);
  expect(store.deaths).toEqual([]);
});

test.each([
  ['deleted', (path: string) => rmSync(path)],
  ['moved away', (path: string) => renameSync(path, `${path}.away`)],
  [
    'replaced',
    (path: string) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  ],
])('a database that is %s while it is open ends the store, with the reason', async (_name, happen) => {
  const store = await storeAt();
  await store.writer.appendDelivery(delivery('a', item()), T0);
  await eventually(() => markOf(store.path).logSeq === 1, { what: 'writer and checkpoints run' });
  // The third thread: it must not find the file gone when it opens it.
  await store.reader.ask('lastLife');
  happen(store.path);
  await eventually(() => store.deaths.length === 1, { what: 'the owner is told', withinMs: 5_000 });
  expect(store.deaths[0]?.message).toContain(
    `another program deleted, moved or replaced ${store.path} while`,
  );
  await store.close();
  expect(store.deaths).toHaveLength(1);
  // The next start is told how far the numbers had come.
  expect(markOf(store.path)).toMatchObject({ logSeq: 1 });
  const news: HistoryNews[] = [];
  await storeAt(store.path, { onHistoryNews: (one) => void news.push(one) });
  expect(news).toMatchObject([{ type: 'new_epoch' }]);
});

test.each(['-wal', '-shm', '.lock'])(
  'its %s deleted while it is open ends the store, with the reason, and nothing is lost',
  async (end) => {
    const store = await storeAt();
    await store.writer.appendDelivery(delivery('a', item()), T0);
    await eventually(() => markOf(store.path).logSeq === 1, { what: 'writer and checkpoints run' });
    await store.reader.ask('lastLife');
    rmSync(store.path + end);
    await store.writer.appendDelivery(delivery('b', item({ id: '101' })), T0);
    await eventually(() => store.deaths.length === 1, { what: 'the owner is told', withinMs: 5_000 });
    expect(store.deaths[0]?.message).toContain(
      `another program deleted, moved or replaced ${store.path}${end} while`,
    );
    // What a kill leaves when nothing but the database is there.
    const left = newPath();
    copyFileSync(store.path, left);
    const db = new Database(left);
    expect(db.prepare('SELECT count(*) FROM log').pluck().get()).toBe(2);
    db.close();
  },
);
