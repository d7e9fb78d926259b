/** A copy whose primary is gone becomes a mirror of its own, and nothing that was given out gets another meaning. */
import { existsSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
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

async function stoppedCopy() {
  const primary = await storeAt();
  const found = detail('10', [{ id: '100', levels: { 1: 5 } }]);
  await primary.writer.append(readEntry('10', found, { sentAtMs: T0 - 10_000, s0: 0 }));
  await primary.writer.appendDelivery(delivery('a', item()), T0);
  const ops = await startPrimary(primary);
  const copy = startCopy(ops.url);
  expect(await eventually(() => differences(primary, copy), { what: 'a copy' })).toEqual([]);
  await copy.stop();
  return { primary, copy, ops };
}

test('it begins an epoch above all that was given out, takes webhooks, and reads everything again', async () => {
  const { primary, copy, ops } = await stoppedCopy();
  const before = statusIn(copy.path);
  // What the primary gave out, and never passed on.
  await primary.writer.appendDelivery(delivery('b', item({ old: 4, new: 3, update_time: T0 + 1 })), T0 + 1);
  const promoted = promoteCopy(copy.path, T0 + 60_000);
  expect(promoted).toMatchObject({ origin: ops.url, lastSeq: 2 });
  const store = await storeAt(copy.path);
  await store.writer.appendDelivery(delivery('c', item({ old: 4, new: 2, update_time: T0 + 2 })), T0 + 2);
  await eventually(() => store.writer.appliedSeq === store.writer.lastSeq, { what: 'all applied' });
  const after = statusIn(copy.path);
  expect(after.epoch).not.toBe(before.epoch);
  expect(after.last_seq).toBeGreaterThan(statusIn(primary.path).last_seq + 1_000);
  const db = readerDb(copy.path);
  expect(rows(db, 'SELECT available_qty, suspect FROM mirror_stock')).toEqual([
    { available_qty: 2, suspect: 1 },
  ]);
  await store.close();
  // It stays so.
  const again = await storeAt(copy.path);
  expect(statusIn(copy.path).epoch).toBe(after.epoch);
  await again.close();
});

test('before it is promoted, it cannot be served as a mirror of its own', async () => {
  const { copy } = await stoppedCopy();
  const opening = openStore(copy.path, { onDeath: () => undefined, onNews: () => undefined });
  await expect(opening).rejects.toThrow('to make it a mirror of its own, run `stock-mirror promote`');
});

test('it is not made anew from its own event log, and is only compared with it', async () => {
  const { copy } = await stoppedCopy();
  const options = { nowMs: T0, onProgress: () => undefined, interrupted: new AbortController().signal };
  await expect(rebuildMirror(copy.path, { ...options, check: false })).rejects.toThrow('is a copy of');
  expect(await rebuildMirror(copy.path, { ...options, check: true })).toMatchObject({ differing: [] });
});

test('others that copied the same primary follow the promoted copy, and need no snapshot', async () => {
  const { copy, ops } = await stoppedCopy();
  const other = startCopy(ops.url);
  await eventually(() => other.state.levelAtMs, { what: 'another copy' });
  await other.stop();
  promoteCopy(copy.path, T0 + 60_000);
  const store = await storeAt(copy.path);
  const next = startCopy((await startPrimary(store)).url, { path: other.path });
  await store.writer.appendDelivery(delivery('c', item({ old: 4, new: 2, update_time: T0 + 2 })), T0 + 2);
  expect(await differences(store, next)).toEqual([]);
  expect(next.snapshots).toBe(0);
});

test('one that had more of the old primary than the promoted copy begins anew', async () => {
  const { primary, copy, ops } = await stoppedCopy();
  await primary.writer.appendDelivery(delivery('b', item({ old: 4, new: 3, update_time: T0 + 1 })), T0 + 1);
  const other = startCopy(ops.url);
  await eventually(() => other.state.levelAtMs, { what: 'another copy' });
  await other.stop();
  promoteCopy(copy.path, T0 + 60_000);
  const store = await storeAt(copy.path);
  const next = startCopy((await startPrimary(store)).url, { path: other.path });
  expect(await eventually(() => differences(store, next), { what: 'a copy' })).toEqual([]);
  expect(next.snapshots).toBe(1);
});

test('a promoted copy is not replaced by what it was a copy of', async () => {
  const { copy, ops } = await stoppedCopy();
  promoteCopy(copy.path, T0 + 60_000);
  const again = startCopy(ops.url, { path: copy.path });
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
