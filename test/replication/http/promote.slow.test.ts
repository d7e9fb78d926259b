/** A copy whose primary is gone becomes a mirror of its own, and nothing that was given out gets another meaning. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import { promoteCopy } from '../../../src/event-log/promote.ts';
import { openStore } from '../../../src/mirror/open-store.ts';
import { rebuildMirror } from '../../../src/mirror/rebuild.ts';
import { StoreError } from '../../../src/sqlite/errors.ts';
import {
  delivery,
  detail,
  item,
  newPath,
  readEntry,
  readerDb,
  rows,
  storeAt,
  T0,
} from '../../mirror/mirror-file.ts';
import { eventually } from '../../process/wait.ts';
import { present } from '../../shared/present.ts';
import { differences, startCopy, startPrimary } from './machines.ts';

vi.setConfig({ testTimeout: 60_000 });

interface Status {
  readonly epoch: string;
  readonly last_seq: number;
}

const statusIn = (path: string): Status =>
  present(rows(readerDb(path), 'SELECT epoch, last_seq FROM mirror_status')[0]) as unknown as Status;

interface Made {
  readonly origin: string;
  /** What the primary gave out last, which one of the copies has not. */
  readonly lastSeq: number;
}

const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-copies-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made: Promise<Made> | null = null;

/** A primary and two copies of it, of which one has its last entry: made once, and copied for each test. */
async function stoppedCopies() {
  made ??= make();
  const { origin, lastSeq } = await made;
  const of = (name: string): string => {
    const path = newPath();
    copyFiles(join(folder, `${name}.db`), path);
    return path;
  };
  return { origin, lastSeq, primary: of('primary'), behind: of('behind'), ahead: of('ahead') };
}

async function make(): Promise<Made> {
  const primary = await storeAt();
  const found = detail('10', [{ id: '100', levels: { 1: 5 } }]);
  await primary.writer.append(readEntry('10', found, { sentAtMs: T0 - 10_000, s0: 0 }));
  await primary.writer.appendDelivery(delivery('a', item()), T0);
  const ops = await startPrimary(primary);
  const first = startCopy(ops.url);
  expect(await eventually(() => differences(primary, first), { what: 'a copy' })).toEqual([]);
  await first.stop();
  copyFiles(first.path, join(folder, 'behind.db'));
  await primary.writer.appendDelivery(delivery('b', item({ old: 4, new: 3, update_time: T0 + 1 })), T0 + 1);
  const again = startCopy(ops.url, { path: first.path });
  expect(await eventually(() => differences(primary, again), { what: 'all of it' })).toEqual([]);
  await again.stop();
  copyFiles(first.path, join(folder, 'ahead.db'));
  await ops.stop();
  await primary.close();
  copyFiles(primary.path, join(folder, 'primary.db'));
  return { origin: ops.url, lastSeq: statusIn(primary.path).last_seq };
}

/** As nothing has them open. */
function copyFiles(from: string, to: string): void {
  copyFileSync(from, to);
  copyFileSync(eventLogPath(from), eventLogPath(to));
}

test('it begins an epoch above all that was given out, takes webhooks, and reads everything again', async () => {
  const { behind: path, origin, lastSeq } = await stoppedCopies();
  const before = statusIn(path);
  const promoted = promoteCopy(path, T0 + 60_000);
  expect(promoted).toMatchObject({ origin, lastSeq: 2 });
  const store = await storeAt(path);
  await store.writer.appendDelivery(delivery('c', item({ old: 4, new: 2, update_time: T0 + 2 })), T0 + 2);
  await eventually(() => store.writer.appliedSeq === store.writer.lastSeq, { what: 'all applied' });
  const after = statusIn(path);
  expect(after.epoch).not.toBe(before.epoch);
  expect(after.last_seq).toBeGreaterThan(lastSeq + 1_000);
  const db = readerDb(path);
  expect(rows(db, 'SELECT available_qty, suspect FROM mirror_stock')).toEqual([
    { available_qty: 2, suspect: 1 },
  ]);
  await store.close();
  // It stays so.
  const again = await storeAt(path);
  expect(statusIn(path).epoch).toBe(after.epoch);
  await again.close();
});

test('before it is promoted, it cannot be served as a mirror of its own', async () => {
  const { behind } = await stoppedCopies();
  const opening = openStore(behind, { onDeath: () => undefined, onNews: () => undefined });
  await expect(opening).rejects.toThrow('to make it a mirror of its own, run `stock-mirror promote`');
});

test('it is not made anew from its own event log, and is only compared with it', async () => {
  const { behind } = await stoppedCopies();
  const options = { nowMs: T0, onProgress: () => undefined, interrupted: new AbortController().signal };
  await expect(rebuildMirror(behind, { ...options, check: false })).rejects.toThrow('is a copy of');
  expect(await rebuildMirror(behind, { ...options, check: true })).toMatchObject({ differing: [] });
});

test('others that copied the same primary follow the promoted copy, and need no snapshot', async () => {
  const { behind, ahead } = await stoppedCopies();
  promoteCopy(ahead, T0 + 60_000);
  const store = await storeAt(ahead);
  const next = startCopy((await startPrimary(store)).url, { path: behind });
  await store.writer.appendDelivery(delivery('c', item({ old: 4, new: 2, update_time: T0 + 2 })), T0 + 2);
  expect(await differences(store, next)).toEqual([]);
  expect(next.snapshots).toBe(0);
});

test('one that had more of the old primary than the promoted copy begins anew', async () => {
  const { behind, ahead } = await stoppedCopies();
  promoteCopy(behind, T0 + 60_000);
  const store = await storeAt(behind);
  const next = startCopy((await startPrimary(store)).url, { path: ahead });
  expect(await eventually(() => differences(store, next), { what: 'a copy' })).toEqual([]);
  expect(next.snapshots).toBe(1);
});

test('a promoted copy is not replaced by what it was a copy of', async () => {
  const { behind, primary } = await stoppedCopies();
  promoteCopy(behind, T0 + 60_000);
  const { url } = await startPrimary(await storeAt(primary));
  const again = startCopy(url, { path: behind });
  await eventually(() => again.problems.some((problem) => problem.startsWith('ended: ')), {
    what: 'its end',
  });
  expect(again.problems.at(-1)).toContain('is a mirror of its own, or a copy whose event log is lost');
  await again.stop().catch(() => undefined);
});

test('what is no copy, or is served, is refused and left as it is', async () => {
  const nothing = newPath();
  expect(() => promoteCopy(nothing, T0)).toThrow(StoreError);
  expect(existsSync(nothing)).toBe(false);
  const own = await storeAt();
  expect(() => promoteCopy(own.path, T0)).toThrow('already serves');
  await own.close();
  const { epoch } = statusIn(own.path);
  expect(() => promoteCopy(own.path, T0)).toThrow('is no copy: nothing was changed');
  expect(statusIn(own.path).epoch).toBe(epoch);
});
