/** Snapshots as files: whether there is room for one, and whose they are afterwards. */
import type * as Fs from 'node:fs';
import { chmodSync, copyFileSync, readdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test, vi } from 'vitest';
import { eventLogPath } from '../../src/event-log/open-log.ts';
import { makeSnapshot } from '../../src/replication/make-snapshot.ts';
import type { SnapshotFiles } from '../../src/replication/transport.ts';
import { delivery, item, newPath, storeAt, T0 } from '../mirror/mirror-file.ts';
import { replaceFiles } from './replace-files.ts';

const disk = vi.hoisted(() => ({ freeBytes: null as number | null }));
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof Fs>();
  const statfsSync = (path: string) =>
    disk.freeBytes === null ? fs.statfsSync(path) : { bavail: disk.freeBytes / 4096, bsize: 4096 };
  return { ...fs, statfsSync };
});

const signal = new AbortController().signal;

async function primary() {
  const store = await storeAt();
  await store.writer.appendDelivery(delivery('a', item({ update_time: T0 })), T0);
  return store;
}

test('none is made where the disk has no room for it, and nothing is written', async () => {
  const { path } = await primary();
  const sizes = [path, eventLogPath(path)].flatMap((file) => [file, `${file}-wal`]);
  const bytes = sizes.reduce((sum, file) => sum + statSync(file).size, 0);
  disk.freeBytes = bytes + (64 << 20) - 4096;
  const making = makeSnapshot(path, 'snapshot-copied', signal);
  await expect(making).rejects.toMatchObject({ kind: 'no_room' });
  await expect(making).rejects.toThrow(`in ${dirname(path)}, and`);
  await expect(making).rejects.toThrow('free disk space there');
  disk.freeBytes += 8192;
  const made = await makeSnapshot(path, 'snapshot-copied', signal);
  expect(made).not.toBeNull();
  made?.remove();
  disk.freeBytes = null;
  expect(readdirSync(dirname(path)).filter((name) => name.includes('snapshot'))).toEqual([]);
});

test('what replaces a mirror has its permissions', async () => {
  const { path } = await primary();
  const copy = newPath();
  const source = {
    name: 'primary',
    getSnapshot: async (into: SnapshotFiles) => {
      const made = await makeSnapshot(path, 'snapshot-out', signal);
      if (made === null) return false;
      copyFileSync(made.mirror, into.mirror);
      copyFileSync(made.log, into.log);
      made.remove();
      return true;
    },
  };
  const take = () => replaceFiles({ databasePath: copy, source, signal });
  await take();
  chmodSync(copy, 0o640);
  await take();
  expect((statSync(copy).mode & 0o777).toString(8)).toBe('640');
  expect((statSync(eventLogPath(copy)).mode & 0o777).toString(8)).toBe('600');
});
