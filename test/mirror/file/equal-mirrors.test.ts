/** Whatever readers see comes from the event log: mirrors of one log are equal in it (docs/architecture.md#the-event-log). */
import { copyFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { RULES_VERSION } from '../../../src/core/rules-version.ts';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import { digestsOf } from '../../../src/mirror/file/projected.ts';
import { rebuildMirror } from '../../../src/mirror/rebuild.ts';
import { eventually } from '../../process/wait.ts';
import {
  delivery,
  detail,
  DirectWriter,
  item,
  newPath,
  readEntry,
  readerDb,
  rows,
  storeAt,
  T0,
  values,
  writerDb,
  type OpenStore,
} from '../mirror-file.ts';
import { applyAgain } from '../replay.ts';

const HOUR_MS = 60 * 60_000;

/** An hour of reads, deliveries that are not understood, failed reads, and a run. */
async function hour({ writer, reader }: OpenStore, n: number): Promise<void> {
  const fromMs = T0 + n * HOUR_MS;
  const run = { run: 'scheduled', atMs: fromMs, readAfterMs: fromMs, total: 2, productIds: null } as const;
  const { seq: startedSeq } = await writer.append({ kind: 'run_begun', ...run });
  const [{ id } = { id: 0 }] = await reader.ask('latestRuns', { limit: 1 });
  for (let i = 0; i < 20; i += 1) {
    const atMs = fromMs + i * 10_000;
    await writer.appendDelivery(delivery(`${n}/${i}`, item({ old: i, new: i + 1, update_time: atMs })), atMs);
    if (i % 5 > 0) continue;
    const found = detail('10', [{ id: '100', levels: { 1: i, 2: n } }]);
    await writer.append(readEntry('10', found, { sentAtMs: atMs + 5_000, s0: writer.lastSeq }));
  }
  await writer.appendDelivery(new TextEncoder().encode(`} ${n}`), fromMs + 300_000);
  const refused = { atMs: fromMs, attempts: 1, faults: 1, nextAtMs: fromMs, parked: true, error: 'refused' };
  await writer.append({ kind: 'given_up', productId: '11', ...refused });
  await writer.command('failRead', { productId: '11', ...refused, attempts: 2 });
  await writer.command('progressRun', { id, total: 2, done: 1, failed: 1 });
  const ended = {
    kind: 'run_ended',
    atMs: fromMs + 400_000,
    startedSeq,
    error: null,
    fullSync: true,
  } as const;
  await writer.append({ ...ended, total: 2, done: 1, failed: 1, drift: 3 });
}

function copyMirror(from: string): string {
  const to = newPath();
  for (const [file, copy] of [
    [from, to],
    [eventLogPath(from), eventLogPath(to)],
  ] as const)
    copyFileSync(file, copy);
  return to;
}

const digests = (path: string): [string, string][] => {
  const db = new Database(path, { readonly: true });
  const found = [...digestsOf(db)];
  db.close();
  return found;
};

test('a load with failed reads, a run and pruning: a mirror that was behind, and one made anew, are equal to it', async () => {
  const path = newPath();
  const first = await storeAt(path);
  for (let n = 0; n < 3; n += 1) await hour(first, n);
  await first.close();
  const early = copyMirror(path);

  const second = await storeAt(path);
  await hour(second, 3);
  const prune = { nowMs: T0 + 4 * HOUR_MS, beforeMs: T0 + 2 * HOUR_MS, limit: 7 };
  for (let left = 1; left > 0;) {
    const { log, changes, quarantine, runs } = await second.writer.prune(prune);
    left = log + changes + quarantine + runs;
  }
  await hour(second, 5);
  await second.writer.append({
    ...{ kind: 'run_begun', run: 'operator', atMs: T0 + 6 * HOUR_MS, readAfterMs: 0, total: 9 },
    productIds: ['10'],
  });
  await second.writer.command('nameWarehouses', { names: { 1: 'Bangkok' } });
  await second.writer.command('progressRun', { id: 6, total: 9, done: 4, failed: 0 });
  await second.close();
  const is = digests(path);
  const db = readerDb(path);
  expect(values(db, 'SELECT id FROM runs ORDER BY id')).toEqual([3, 4, 5, 6]);
  expect(values(db, 'SELECT * FROM given_up_reads')).toEqual(['11']);
  expect(values<number>(db, 'SELECT pruned_change_seq FROM service_state')[0]).toBeGreaterThan(20);
  const [first_kept] = values<number>(db, 'SELECT min(seq) FROM log');
  expect(first_kept).toBeGreaterThan(40);

  // The whole log: what was pruned of it, and the rest.
  const whole = copyMirror(path);
  const logDb = new Database(eventLogPath(whole));
  logDb.prepare('ATTACH ? AS early').run(eventLogPath(early));
  logDb.exec('INSERT OR IGNORE INTO main.log SELECT * FROM early.log');
  logDb.close();
  const options = { nowMs: T0, onProgress: () => undefined, interrupted: new AbortController().signal };
  expect(await rebuildMirror(whole, { check: true, ...options })).toMatchObject({
    differing: [],
    rules: [{ version: RULES_VERSION, fromSeq: 1 }],
  });
  expect(await rebuildMirror(whole, { check: false, ...options })).toMatchObject({ newEpoch: false });
  expect(digests(whole)).toEqual(is);

  // The pruned log, and a mirror from before.
  db.close();
  copyFileSync(early, path);
  const healed = await storeAt(path);
  await eventually(() => healed.writer.appliedSeq === healed.writer.lastSeq, { what: 'all is applied' });
  await healed.close();
  expect(digests(path)).toEqual(is);
});

test.each([
  ['runs', `UPDATE runs SET done = 7 WHERE state = 'done'`],
  ['given_up_reads', 'DELETE FROM given_up_reads'],
  ['service_state', 'UPDATE service_state SET last_full_sync_at_ms = 1'],
  ['service_state', 'UPDATE service_state SET pruned_change_seq = 1'],
  ['live_counts', 'UPDATE live_counts SET levels = levels + 1'],
  ['product_stock_levels', 'UPDATE product_stock_levels SET levels = levels + 1'],
])('%s: a row that the event log does not say is noticed', async (table, sql) => {
  const path = newPath();
  const store = await storeAt(path);
  await hour(store, 0);
  await store.close();
  const db = new Database(path);
  db.exec(sql);
  db.close();
  const options = { nowMs: T0, onProgress: () => undefined, interrupted: new AbortController().signal };
  expect(await rebuildMirror(path, { check: true, ...options })).toMatchObject({ differing: [table] });
});

describe('of a run', () => {
  const figures = (writer: DirectWriter) =>
    rows(writer.db, 'SELECT state, total, done, failed, drift, list_offset, list_done, error FROM runs');

  test('what is told after its end changes nothing', () => {
    const writer = new DirectWriter();
    const id = writer.beginRun({ total: 3 });
    writer.endRun(id, { error: 'x' });
    const ended = figures(writer);
    expect(ended).toMatchObject([{ state: 'failed', total: 0, error: 'x', list_done: 1 }]);
    writer.commit(
      { kind: 'command', name: 'progressRun', args: { id, total: 9, done: 9, failed: 9 } },
      {
        kind: 'command',
        name: 'checkpointRun',
        args: { id, listOffset: 9, listLastId: '9', listDone: false, total: 9 },
      },
    );
    expect(figures(writer)).toEqual(ended);
  });

  test('a difference counts from the transaction that corrects it, for every run under way', () => {
    const writer = new DirectWriter();
    const id = writer.beginRun();
    const read = (quantity: number, sentAtMs: number) =>
      writer.read('10', detail('10', [{ id: '100', levels: { 1: quantity } }]), sentAtMs);
    read(5, T0 + 10_000);
    expect(figures(writer), 'a first sight is no difference').toMatchObject([{ drift: 0 }]);
    read(7, T0 + 20_000);
    expect(figures(writer)).toMatchObject([{ drift: 1 }]);
    writer.endRun(id, { error: 'x' });
    const ended = figures(writer);
    read(9, T0 + 30_000);
    expect(figures(writer)).toEqual(ended);
  });

  test('how far it had come is not kept when history starts again', () => {
    const writer = new DirectWriter();
    const id = writer.beginRun({ total: 3 });
    writer.commit({ kind: 'command', name: 'progressRun', args: { id, total: 9, done: 9, failed: 9 } });
    writer.append({ kind: 'epoch', atMs: T0 + 9, givenOutSeq: 0, epoch: 'second' });
    expect([...digestsOf(applyAgain(writer.db, writerDb()))]).toEqual([...digestsOf(writer.db)]);
  });
});

test('nothing to prune, no entry: also not when it is asked again and again', () => {
  const writer = new DirectWriter();
  for (let n = 0; n < 5; n += 1) writer.deliver(delivery(`r${n}`, item({ old: n, new: n + 1 })), T0 + n);
  const kinds = () => values(writer.db, 'SELECT kind FROM log ORDER BY seq');
  const none = { log: 0, changes: 0, quarantine: 0, runs: 0 };
  expect(writer.prune(T0)).toEqual(none);
  expect(kinds()).toHaveLength(5);
  expect(writer.prune(T0 + 3)).toMatchObject({ log: 3 });
  for (let n = 0; n < 5; n += 1) expect(writer.prune(T0 + 3)).toEqual(none);
  expect(kinds()).toEqual(['delivery', 'delivery', 'pruned']);
});
