/** The mirror's file is deleted, replaced or damaged while the store is open: deliveries go on, and it heals. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { StoreError } from '../../../src/sqlite/errors.ts';
import type { EpochNews } from '../../../src/event-log/epoch.ts';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import { lockDatabase } from '../../../src/sqlite/lock.ts';
import { openReaderOfBoth } from '../../../src/event-log/open-both.ts';
import type { ApplyNews } from '../../../src/mirror/writer/projection-client.ts';
import type { StoreNews } from '../../../src/mirror/writer/upkeep.ts';
import { present } from '../../shared/present.ts';
import { eventually } from '../../process/wait.ts';
import { delivery, item, newPath, storeAt, T0, type OpenStore } from '../mirror-file.ts';

const PAGE_BYTES = 4_096;

interface Watched extends OpenStore {
  readonly news: StoreNews[];
  readonly applyNews: ApplyNews[];
  readonly healed: () => number;
}

async function watchedStore(path = newPath()): Promise<Watched> {
  const news: StoreNews[] = [];
  const applyNews: ApplyNews[] = [];
  let healed = 0;
  const store = await storeAt(path, {
    onNews: (one) => void news.push(one),
    onApplyNews: (one) => void applyNews.push(one),
    onHealed: () => void (healed += 1),
  });
  return { ...store, writer: store.writer, news, applyNews, healed: () => healed };
}

let sent = 0;
async function deliver({ writer }: OpenStore, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    sent += 1;
    await writer.appendDelivery(delivery(`d${sent}`, item({ id: String(sent) })), T0);
  }
}

const allIsApplied = ({ writer }: OpenStore): Promise<true> =>
  eventually(() => writer.appliedSeq === writer.lastSeq, { what: 'all is applied' });

/** On a connection of its own, which is closed: one left open would keep the write-ahead log. */
function read<T>(path: string, sql: string): T[] {
  const db = openReaderOfBoth(path);
  try {
    return db.prepare<[], T>(sql).all();
  } finally {
    db.close();
  }
}

const changesOf = (path: string): unknown[] => read(path, 'SELECT * FROM mirror_changes ORDER BY seq');

const epochOf = (path: string): string =>
  present(read<{ epoch: string }>(path, 'SELECT epoch FROM mirror_status')[0]).epoch;

/** Every thread has the file open, and it holds something. */
async function storeAtWork(): Promise<Watched> {
  const store = await watchedStore();
  await deliver(store, 50);
  await allIsApplied(store);
  await store.reader.ask('lastFullSync');
  await eventually(() => existsSync(`${store.path}.mark`), { what: 'checkpoints run' });
  return store;
}

const backups = new Map<string, string>();

async function backUp(path: string): Promise<void> {
  const to = newPath();
  const db = new Database(path, { readonly: true });
  await db.backup(to);
  db.close();
  backups.set(path, to);
}

const beside = (path: string): string[] =>
  readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)));

const LOSSES: [string, (path: string) => void][] = [
  ['it is deleted', (path) => rmSync(path)],
  ['it is moved away', (path) => renameSync(path, `${path}.away`)],
  [
    'all that begins with its name is deleted',
    (path) => beside(path).forEach((name) => rmSync(join(dirname(path), name))),
  ],
  [
    'an older backup is put in its place',
    (path) => {
      copyFileSync(present(backups.get(path)), `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  ],
  ['its -wal is deleted', (path) => rmSync(`${path}-wal`)],
  ['its -shm is deleted', (path) => rmSync(`${path}-shm`)],
];

test.each(LOSSES)('%s: the store goes on, and nothing is lost', async (_name, happen) => {
  const store = await storeAtWork();
  const { path } = store;
  await backUp(path);
  await deliver(store, 50);
  await allIsApplied(store);
  const told = changesOf(path);
  const epoch = epochOf(path);
  expect(told).toHaveLength(100);

  happen(path);
  await deliver(store, 20);
  await eventually(() => store.healed() === 1, { what: 'it is healed' });
  await deliver(store, 20);
  await allIsApplied(store);

  expect(store.deaths).toEqual([]);
  expect(store.news).toEqual([]);
  expect(epochOf(path)).toBe(epoch);
  const after = changesOf(path);
  expect(after).toHaveLength(140);
  expect(after.slice(0, 100)).toEqual(told);
  // Its own readers see the new file, and told is what happened, whose fault it is and what it means.
  expect(await store.reader.ask('liveCounts')).toBeDefined();
  expect((await store.reader.ask('changesAfter', { after: 139, limit: 10 })).changes).toHaveLength(1);
  expect(store.applyNews.map(({ error }) => error === null)).toEqual([false, true]);
  expect(store.applyNews[0]?.error?.message).toContain('another program deleted, moved or replaced');
  // Still the only one that may write.
  expect(() => lockDatabase(path)).toThrow(/already serves/);
  await store.close();
  expect(read(path, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
});

test('a lock file that is deleted is made again: no other process may write', async () => {
  const store = await storeAtWork();
  rmSync(`${store.path}.lock`);
  await eventually(() => existsSync(`${store.path}.lock`), { what: 'it is there again' });
  expect(() => lockDatabase(store.path)).toThrow(/already serves/);
  expect(store.deaths).toEqual([]);
});

test('a lock that another process has taken meanwhile ends the store', async () => {
  const store = await storeAtWork();
  rmSync(`${store.path}.lock`);
  const other = lockDatabase(store.path);
  await eventually(() => store.deaths.length === 1, { what: 'the owner is told' });
  expect(store.deaths[0]?.message).toContain('already serves');
  other.release();
});

/** All but the first page, which holds the header. */
function damage(path: string, fromPage = 2): void {
  const file = openSync(path, 'r+');
  const pages = statSync(path).size / PAGE_BYTES;
  for (let page = fromPage; page <= pages; page += 1) {
    writeSync(file, Buffer.alloc(PAGE_BYTES, 0x5a), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  }
  closeSync(file);
}

const asideOf = (path: string): string[] =>
  beside(path).filter((name) => /\.damaged-\d{8}T\d{6}Z$/.test(name));

test.each([
  ['all but its header', 2],
  ['all of it', 1],
])('a mirror whose bytes are overwritten, %s, is moved aside and made anew', async (_name, fromPage) => {
  const first = await storeAtWork();
  const { path } = first;
  const told = changesOf(path);
  const epoch = epochOf(path);
  // What is in the file is read from there, and not from its write-ahead log or from memory.
  await first.close();
  const store = await watchedStore(path);
  damage(path, fromPage);
  await deliver(store, 20);
  await eventually(() => store.healed() === 1, { what: 'it is healed' });
  await deliver(store, 20);
  await allIsApplied(store);

  expect(store.deaths).toEqual([]);
  expect(store.news).toMatchObject([{ type: 'mirror_set_aside' }]);
  expect(asideOf(path)).toEqual([basename((store.news[0] as { aside: string }).aside)]);
  expect(epochOf(path)).toBe(epoch);
  expect(changesOf(path).slice(0, 50)).toEqual(told);
  expect(changesOf(path)).toHaveLength(90);
});

test.each([
  ['all but its header', 2],
  ['all of it', 1],
])(
  'a mirror that is found damaged at the start, %s, is moved aside and made anew',
  async (_name, fromPage) => {
    const first = await storeAtWork();
    const { path } = first;
    const told = changesOf(path);
    const epoch = epochOf(path);
    await first.close();
    damage(path, fromPage);
    const store = await watchedStore(path);
    await allIsApplied(store);
    expect(store.news).toMatchObject([{ type: 'mirror_set_aside' }]);
    expect(asideOf(path)).toHaveLength(1);
    expect(epochOf(path)).toBe(epoch);
    expect(changesOf(path)).toEqual(told);
    expect(statSync(path).mode & 0o777).toBe(
      statSync(join(dirname(path), present(asideOf(path)[0]))).mode & 0o777,
    );
  },
);

test('damage that only a query meets is found too', async () => {
  const first = await storeAtWork();
  const { path } = first;
  const found = present(
    read<{ page: number }>(path, "SELECT rootpage AS page FROM sqlite_master WHERE name = 'dead_letters'")[0],
  );
  await first.close();
  const store = await watchedStore(path);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(PAGE_BYTES, 0x5a), 0, PAGE_BYTES, (found.page - 1) * PAGE_BYTES);
  closeSync(file);
  const asked = store.reader.ask('deadLettersBefore', { beforeId: null, limit: 10 });
  await expect(asked).rejects.toMatchObject({ kind: 'damaged' } satisfies Partial<StoreError>);
  await eventually(() => store.healed() === 1, { what: 'it is healed' });
  expect(await store.reader.ask('deadLettersBefore', { beforeId: null, limit: 10 })).toBeDefined();
  expect(asideOf(path)).toHaveLength(1);
});

test('an event log that does not go back to the beginning: a new epoch, above all that was told', async () => {
  const store = await storeAtWork();
  const { path } = store;
  const epoch = epochOf(path);
  await store.writer.prune({ nowMs: T0, beforeMs: T0 + 1, limit: 10 });
  expect(read(path, 'SELECT min(seq) AS first FROM log')).toEqual([{ first: 11 }]);
  rmSync(path);
  rmSync(`${path}.mark`);
  await deliver(store, 20);
  await eventually(() => store.healed() === 1, { what: 'it is healed' });
  expect(store.deaths).toEqual([]);
  expect(store.news).toMatchObject([{ type: 'new_epoch', epochBefore: epoch }]);
  // Some may have been applied to the file that was gone.
  expect((store.news[0] as EpochNews).lastSeq).toBeGreaterThan(50);
  expect(epochOf(path)).not.toBe(epoch);
  await allIsApplied(store);
});

test('a mirror that cannot be made anew for now is made when it can be', async () => {
  const store = await storeAtWork();
  const { path } = store;
  rmSync(path);
  // Nothing can be opened there.
  const other = new Database(`${path}.other`);
  other.exec('CREATE TABLE theirs (id)');
  other.close();
  renameSync(`${path}.other`, path);
  await deliver(store, 20);
  await eventually(() => store.applyNews.length >= 2, { what: 'it is told' });
  expect(store.applyNews[1]?.error?.message).toContain('belongs to another program');
  await expect(store.reader.ask('liveCounts')).rejects.toThrow('deleted, moved or replaced');
  await deliver(store, 20);
  expect(store.healed()).toBe(0);
  renameSync(path, `${path}.theirs`);
  await eventually(() => store.healed() === 1, { what: 'it is healed' });
  expect(changesOf(path)).toHaveLength(90);
  expect(store.deaths).toEqual([]);
});

test('a damaged event log is not mended by moving the mirror aside', async () => {
  const store = await storeAtWork();
  const { path } = store;
  await store.close();
  damage(eventLogPath(path), 3);
  await expect(watchedStore(path)).rejects.toMatchObject({ kind: 'damaged' });
  expect(asideOf(path)).toEqual([]);
});
