/** A snapshot takes the place of a replica's files whole, or leaves them as they are. */
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openBoth } from '../../scripts/shared/direct-writer.ts';
import { EventLog } from '../../src/event-log/event-log.ts';
import { highWaterMarkPath } from '../../src/event-log/high-water-mark.ts';
import { eventLogPath, openLogForAppending } from '../../src/event-log/open-log.ts';
import { openOwnLog } from '../../src/event-log/own-log.ts';
import { backupDatabase } from '../../src/mirror/file/backup.ts';
import { replaceFiles } from './replace-files.ts';
import { TransportError, type SnapshotFiles } from '../../src/replication/transport.ts';
import {
  delivery,
  DirectWriter,
  item,
  newPath,
  readerDb,
  storeAt,
  T0,
  values,
} from '../mirror/mirror-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-snapshots-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const snapshots = new Map<string, Promise<SnapshotFiles>>();

/** Of a mirror with some deliveries; one for all tests. @param ids of its deliveries. */
function snapshotOf(...ids: readonly string[]): Promise<SnapshotFiles> {
  const name = ids.join('-');
  const made = snapshots.get(name) ?? makeSnapshot(join(folder, name), ids);
  snapshots.set(name, made);
  return made;
}

async function makeSnapshot(at: string, ids: readonly string[]): Promise<SnapshotFiles> {
  const db = openBoth(`${at}.own.db`);
  const mirrored = new DirectWriter(db);
  for (const id of ids) mirrored.deliver(delivery(id, item({ id })));
  const mirror = `${at}.db`;
  await backupDatabase(`${at}.own.db`, mirror, {
    force: true,
    onProgress: () => undefined,
    interrupted: new AbortController().signal,
  });
  db.close();
  return { mirror, log: eventLogPath(mirror) };
}

let copied: string | null = null;

/** The files of a replica that began with the snapshot of delivery 1. */
async function copyAt(): Promise<string> {
  if (copied === null) {
    const first = join(folder, 'copied.db');
    await begin(first, sourceOf(await snapshotOf('1')));
    copied = first;
  }
  const path = newPath();
  copyFileSync(copied, path);
  copyFileSync(eventLogPath(copied), eventLogPath(path));
  return path;
}

function sourceOf(files: SnapshotFiles | null, spoil: (into: SnapshotFiles) => void = () => undefined) {
  return {
    name: 'memory',
    getSnapshot: (into: SnapshotFiles): Promise<boolean> => {
      if (files === null) return Promise.resolve(false);
      copyFileSync(files.mirror, into.mirror);
      copyFileSync(files.log, into.log);
      spoil(into);
      return Promise.resolve(true);
    },
  };
}

const begin = (databasePath: string, source: ReturnType<typeof sourceOf>): Promise<boolean> =>
  replaceFiles({ databasePath, source, signal: new AbortController().signal });

const changesIn = (path: string): number | undefined =>
  values<number>(readerDb(path), 'SELECT count(*) FROM changes')[0];

/** It can be opened as a copy of `memory`, and was applied. */
function openedAsCopy(path: string) {
  const { log, db, release } = openOwnLog(path, 'copy');
  const { copiedFrom } = log.history();
  db.close();
  release();
  return copiedFrom;
}

const tidy = (path: string): string[] =>
  readdirSync(dirname(path)).filter((name) => name.includes('snapshot'));

test('where nothing is, both files come to be, as a copy of where they are from', async () => {
  const path = newPath();
  expect(await begin(path, sourceOf(await snapshotOf('1', '2')))).toBe(true);
  expect(changesIn(path)).toBe(2);
  expect(openedAsCopy(path)).toEqual({ origin: 'memory', cursor: null });
  expect(tidy(path)).toEqual([]);
});

test('an earlier copy is replaced, with what belonged to it', async () => {
  const path = await copyAt();
  writeFileSync(highWaterMarkPath(path), '{}');
  await begin(path, sourceOf(await snapshotOf('1', '2', '3')));
  expect(changesIn(path)).toBe(3);
  expect(existsSync(highWaterMarkPath(path))).toBe(false);
  expect(openedAsCopy(path)).not.toBeNull();
});

test('without a snapshot everything stays', async () => {
  const path = await copyAt();
  const before = readFileSync(path);
  expect(await begin(path, sourceOf(null))).toBe(false);
  expect(readFileSync(path).equals(before)).toBe(true);
});

test.each<[string, (into: SnapshotFiles) => void]>([
  ['a mirror that is none', ({ mirror }) => writeFileSync(mirror, 'no database at all')],
  ['a log that is none', ({ log }) => writeFileSync(log, 'no database at all')],
  [
    'a mirror that is cut short',
    ({ mirror }) => writeFileSync(mirror, readFileSync(mirror).subarray(0, 40_000)),
  ],
  ['pages that are overwritten', ({ log }) => writeFileSync(log, readFileSync(log).fill(7, 4_096, 12_288))],
])('%s is not taken, is tried again, and what is there stays', async (_what, spoil) => {
  const path = await copyAt();
  const before = readFileSync(path);
  await expect(begin(path, sourceOf(await snapshotOf('1', '2'), spoil))).rejects.toBeInstanceOf(
    TransportError,
  );
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(tidy(path)).toEqual([]);
});

test('two files that do not belong together are not taken', async () => {
  const [one, other] = [await snapshotOf('1'), await snapshotOf('2')];
  const mixed = sourceOf({ mirror: one.mirror, log: other.log });
  await expect(begin(newPath(), mixed)).rejects.toThrow('different histories');
});

test('a mirror of its own is never replaced, also when its event log is lost', async () => {
  const snapshot = sourceOf(await snapshotOf('9'));
  const store = await storeAt();
  await store.writer.appendDelivery(delivery('1', item()), T0);
  await store.writer.command('settle', undefined);
  await store.close();
  await expect(begin(store.path, snapshot)).rejects.toMatchObject({ kind: 'not_a_copy' });
  const { mirror } = await snapshotOf('2');
  await expect(begin(mirror, snapshot)).rejects.toMatchObject({ kind: 'not_a_copy' });
  // As a start as a replica makes it, before it finds that it does not fit.
  const lost = newPath();
  copyFileSync(store.path, lost);
  openLogForAppending(eventLogPath(lost)).close();
  await expect(begin(lost, snapshot)).rejects.toMatchObject({ kind: 'not_a_copy' });
  expect(changesIn(lost)).toBe(1);
});

test('what a first start has made and nothing was copied into is replaced', async () => {
  const store = await storeAt();
  await store.close();
  expect(await begin(store.path, sourceOf(await snapshotOf('1')))).toBe(true);
  expect(changesIn(store.path)).toBe(1);
});

test('files that another process has are left alone', async () => {
  const store = await storeAt();
  await expect(begin(store.path, sourceOf(await snapshotOf('1')))).rejects.toMatchObject({ kind: 'in_use' });
});

test('a kill between the two renames leaves what is refused, and replaced by the next attempt', async () => {
  const path = await copyAt();
  // The log's is first: it is there with the mirror of before.
  const next = await snapshotOf('2', '3');
  const half = newPath();
  await begin(half, sourceOf(next));
  copyFileSync(eventLogPath(half), eventLogPath(path));
  expect(() => openOwnLog(path, 'copy')).toThrow('cannot go on as a copy');
  expect(await begin(path, sourceOf(next))).toBe(true);
  expect(changesIn(path)).toBe(2);
  const db = openLogForAppending(eventLogPath(path));
  expect(new EventLog(db).lastSeq).toBe(2);
  db.close();
});
