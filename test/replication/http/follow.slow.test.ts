/** A copy of one primary over its private listener: equal row by row, whatever happens to either or in between. */
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { encodeFrame } from '../../../src/platform/frames.ts';
import { replaceFiles } from '../replace-files.ts';
import { connectPrimary } from '../../../src/replication/http/connect.ts';
import { TransportError, type Batch } from '../../../src/replication/transport.ts';
import type { Store } from '../../../src/mirror/store.ts';
import { delivery, detail, item, newPath, readEntry, storeAt, T0 } from '../../mirror/mirror-file.ts';
import { TOKEN } from '../../ops/harness.ts';
import { eventually } from '../../process/wait.ts';
import { answering, differences, differingFiles, startCopy, startPrimary, startWay } from './machines.ts';

vi.setConfig({ testTimeout: 60_000 });

const DAY_MS = 24 * 60 * 60_000;

/** Webhooks and reads in turn, ten in a transaction, from here on. */
function feeder({ writer }: Pick<Store, 'writer'>, { from = 0 } = {}) {
  let n = from;
  const append = (): Promise<unknown> => {
    const atMs = T0 + n * 10;
    if (n % 10 === 3) {
      const found = detail('10', [{ id: '100', levels: { 1: 1_000 - n } }]);
      return writer.append(readEntry('10', found, { sentAtMs: atMs, s0: writer.s0 }));
    }
    const change = item({ id: `${100 + (n % 7)}`, old: 1_000 - n, new: 999 - n, update_time: atMs });
    return writer.appendDelivery(delivery(`r${n}`, change), atMs);
  };
  return async (count: number): Promise<void> => {
    const end = n + count;
    while (n < end) {
      const together: Promise<unknown>[] = [];
      for (; n < end && together.length < 10; n += 1) together.push(append());
      await Promise.all(together);
    }
    // What is applied can be pruned.
    await writer.command('settle', undefined);
  };
}

test('a copy begins with a snapshot, follows, is equal row by row, the event log included, and prunes as well', async () => {
  const primary = await storeAt();
  const feed = feeder(primary);
  await feed(40);
  const copy = startCopy((await startPrimary(primary)).url);
  await eventually(() => copy.state.upToDateAtMs, { what: 'a copy that is up to date' });
  expect(copy.snapshots).toBe(1);
  expect(await differences(primary, copy)).toEqual([]);
  await feed(600);
  expect(await differences(primary, copy)).toEqual([]);
  expect(copy.snapshots).toBe(1);
  expect(copy.state).toMatchObject({ left: 0, trouble: null });
  // The copies for it are gone.
  expect(readdirSync(dirname(primary.path)).filter((name) => name.includes('snapshot'))).toEqual([]);
  const pruned = await primary.writer.prune({ nowMs: T0 + DAY_MS, beforeMs: T0 + 1_000, limit: 5_000 });
  expect(pruned.log).toBeGreaterThan(50);
  expect(pruned.changes).toBeGreaterThan(50);
  await feed(20);
  await eventually(async () => (await differences(primary, copy)).length === 0, { what: 'the same left' });
  expect(copy.snapshots).toBe(1);
});

test('a copy of a copy is equal too, and knows whether what it copies is up to date', async () => {
  const primary = await storeAt();
  const feed = feeder(primary);
  await feed(20);
  const way = await startWay((await startPrimary(primary)).port);
  const first = startCopy(way.url);
  await eventually(() => first.state.upToDateAtMs, { what: 'a copy that is up to date' });
  const ops = await startPrimary({ ...first.store, path: first.path }, {}, first.view);
  const second = startCopy(ops.url);
  await feed(100);
  expect(await differences(primary, first)).toEqual([]);
  expect(await differences(primary, second)).toEqual([]);
  await eventually(() => second.state.upToDateAtMs, { what: 'the second copy up to date' });
  way.swallow();
  await eventually(() => first.state.trouble, { what: 'the first copy cut off' });
  await eventually(() => performance.now() - (second.state.upToDateAtMs ?? 0) > 4_000, {
    what: 'the second copy not up to date any more',
  });
  expect(second.state).toMatchObject({ left: 0, trouble: null });
});

test('cut again and again under load, it goes on where it was; a way that swallows all is noticed within 3 s', async () => {
  const primary = await storeAt();
  const feed = feeder(primary);
  await feed(10);
  const ops = await startPrimary(primary);
  const way = await startWay(ops.port);
  const copy = startCopy(way.url);
  await eventually(() => copy.state.upToDateAtMs, { what: 'a copy that is up to date' });
  for (let cuts = 0; cuts < 8; cuts += 1) {
    const feeding = feed(150);
    way.cut();
    await feeding;
    await eventually(() => copy.standing.lastSeq > primary.writer.lastSeq - 100, { what: 'more of it' });
  }
  expect(await differences(primary, copy)).toEqual([]);
  const sinceMs = performance.now();
  way.swallow();
  await eventually(() => copy.state.trouble, { what: 'trouble' });
  expect(performance.now() - sinceMs).toBeLessThan(3_000);
  expect(copy.state.trouble).toContain('has fallen silent');
  await feed(50);
  way.lead(ops.port);
  expect(await differences(primary, copy)).toEqual([]);
  expect(copy.snapshots).toBe(1);
});

test('a copy that was stopped goes on where it was, and begins anew where the log does not reach back to it', async () => {
  const primary = await storeAt();
  const feed = feeder(primary);
  const body = delivery('again', item({ id: '700', old: 3, new: 2, update_time: T0 }));
  await primary.writer.appendDelivery(body, T0);
  await feed(20);
  const ops = await startPrimary(primary);
  const first = startCopy(ops.url);
  expect(await differences(primary, first)).toEqual([]);
  await first.stop();
  // Pruned on the primary alone, the same body is one more entry in both.
  await primary.writer.prune({ nowMs: T0 + 200, beforeMs: T0 + 50, limit: 5_000 });
  expect(await primary.writer.appendDelivery(body, T0 + 900)).toMatchObject({ duplicate: false });
  await feed(700);
  const second = startCopy(ops.url, { path: first.path });
  await eventually(async () => (await differences(primary, second)).length === 0, {
    what: 'the same in both',
  });
  expect(second.snapshots).toBe(0);
  await second.stop();
  await feed(100);
  await primary.writer.prune({ nowMs: T0 + DAY_MS, beforeMs: T0 + 7_600, limit: 5_000 });
  const third = startCopy(ops.url, { path: first.path });
  expect(await eventually(() => differences(primary, third), { what: 'a copy' })).toEqual([]);
  expect(third.snapshots).toBe(1);
  expect(third.problems[0]).toContain('were pruned');
});

test('a primary restored from a backup begins another history: the copy begins anew, and does not mix the two', async () => {
  const path = newPath();
  const before = await storeAt(path);
  const feed = feeder(before);
  await feed(50);
  const way = await startWay((await startPrimary(before)).port);
  const copy = startCopy(way.url);
  await eventually(() => copy.state.upToDateAtMs, { what: 'a copy that is up to date' });
  const made = connectPrimary({ url: way.url, token: TOKEN, caFile: null });
  const restored = newPath();
  const logOf = (file: string): string => file.replace(/\.db$/, '.log.db');
  await made.getSnapshot({ mirror: restored, log: logOf(restored) }, new AbortController().signal);
  await feed(30);
  expect(await differences(before, copy)).toEqual([]);
  way.cut();
  await before.close();
  const after = await storeAt(restored);
  await feeder(after, { from: 1_000 })(10);
  way.lead((await startPrimary(after)).port);
  await eventually(() => copy.snapshots === 2, { what: 'another snapshot' });
  expect(await eventually(() => differences(after, copy), { what: 'a copy' })).toEqual([]);
});

test('a history that the primary’s own mirror went on into is followed without a snapshot', async () => {
  const path = newPath();
  const before = await storeAt(path);
  await feeder(before)(30);
  const way = await startWay((await startPrimary(before)).port);
  const copy = startCopy(way.url);
  await eventually(() => copy.state.upToDateAtMs, { what: 'a copy that is up to date' });
  const epoch = copy.standing.epoch;
  expect(await differences(before, copy)).toEqual([]);
  await before.close();
  // A copy of both files on this machine: other files, the same entries.
  const { cpSync } = await import('node:fs');
  const other = newPath();
  cpSync(dirname(path), dirname(other), { recursive: true });
  const after = await storeAt(other);
  await feeder(after, { from: 1_000 })(10);
  way.cut();
  way.lead((await startPrimary(after)).port);
  await eventually(() => copy.standing.epoch !== epoch, { what: 'the new epoch' });
  expect(await differences(after, copy)).toEqual([]);
  expect(copy.snapshots).toBe(1);
});

test('the entries of a slow copy wait at the primary’s disk, and not in its memory', async () => {
  const primary = await storeAt();
  const large = 'x'.repeat(200_000);
  for (let n = 0; n < 300; n += 1) {
    await primary.writer.appendDelivery(delivery(`r${n}`, item({ sku: large, update_time: T0 + n })), T0 + n);
  }
  const ops = await startPrimary(primary);
  const path = newPath();
  const source = connectPrimary({ url: ops.url, token: TOKEN, caFile: null });
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort();
    await source.close();
  });
  await replaceFiles({ databasePath: path, source, signal: stop.signal });
  const { epoch } = (await primary.reader.ask('status')) as { epoch: string };
  let asked = 0;
  const { reader } = primary;
  const counted = await startPrimary({
    ...primary,
    reader: { ask: (name, ...args) => ((asked += name === 'logSlice' ? 1 : 0), reader.ask(name, ...args)) },
  });
  const slow = connectPrimary({ url: counted.url, token: TOKEN, caFile: null });
  onTestFinished(() => slow.close());
  const batches = slow.follow({ epoch, lastSeq: 1, cursor: null }, stop.signal)[Symbol.asyncIterator]();
  const first = (await batches.next()).value as Batch;
  expect(first.left).toBe(299 - first.rows.length);
  const early = asked;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  // Sixty megabytes are left; what it does not take is not read.
  expect(asked - early).toBeLessThan(4);
  let rows = first.rows.length;
  while (rows < 299) rows += ((await batches.next()).value as Batch).rows.length;
  expect(rows).toBe(299);
});

test('a snapshot that is cut, shortened or damaged is refused, and leaves nothing', async () => {
  const primary = await storeAt();
  await feeder(primary)(30);
  const ops = await startPrimary(primary);
  const whole = Buffer.from(
    await (
      await fetch(`${ops.url}/api/log/snapshot`, { headers: { authorization: `Bearer ${TOKEN}` } })
    ).arrayBuffer(),
  );
  const flipped = Buffer.from(whole);
  flipped[Math.floor(flipped.length / 2)] = (flipped[Math.floor(flipped.length / 2)] ?? 0) ^ 0xff;
  const bodies: readonly Buffer[] = [
    whole.subarray(0, whole.length / 2),
    whole.subarray(0, whole.length - 3),
    whole.subarray(0, whole.length - 18),
    flipped,
    Buffer.concat([whole, encodeFrame({ type: 'content' }, new Uint8Array(5))]),
    Buffer.from(encodeFrame({ type: 'failed', problem: 'there is no room on the disk' })),
  ];
  for (const body of bodies) {
    const path = newPath();
    const url = await answering(200, 'application/vnd.stock-mirror.snapshot', body);
    const source = connectPrimary({ url, token: null, caFile: null });
    await expect(
      replaceFiles({ databasePath: path, source, signal: new AbortController().signal }),
    ).rejects.toThrow(TransportError);
    expect(readdirSync(dirname(path)).filter((name) => !name.endsWith('.lock'))).toEqual([]);
    await source.close();
  }
  const path = newPath();
  const url = await answering(200, 'application/vnd.stock-mirror.snapshot', whole);
  const source = connectPrimary({ url, token: null, caFile: null });
  await replaceFiles({ databasePath: path, source, signal: new AbortController().signal });
  await source.close();
  expect(differingFiles(primary.path, path)).toEqual([]);
});

test('a snapshot whose pages are not a database’s is refused, and tried again', async () => {
  const path = newPath();
  const source = {
    name: 'here',
    getSnapshot: (into: { mirror: string; log: string }) => {
      for (const file of [into.mirror, into.log]) writeFileSync(file, Buffer.alloc(8_192, 7));
      return Promise.resolve(true);
    },
  };
  await expect(
    replaceFiles({ databasePath: path, source, signal: new AbortController().signal }),
  ).rejects.toThrow(TransportError);
  expect(existsSync(path)).toBe(false);
});

test('one snapshot at a time; who leaves takes the copies for it along', async () => {
  const primary = await storeAt();
  await feeder(primary)(30);
  let made = 0;
  const removed: string[] = [];
  const holding = Promise.withResolvers<null>();
  const ops = await startPrimary(primary, {
    makeSnapshot: async (signal) => {
      made += 1;
      await Promise.race([holding.promise, once(signal, 'abort')]);
      const files = { mirror: primary.path, log: primary.path, remove: () => void removed.push('both') };
      return signal.aborted ? null : files;
    },
  });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const leaving = new AbortController();
  const first = await fetch(`${ops.url}/api/log/snapshot`, { headers, signal: leaving.signal });
  const second = await ops.ask('/api/log/snapshot', { headers });
  expect([first.status, second.status]).toEqual([200, 503]);
  expect(second.json).toMatchObject({ error: 'unavailable' });
  leaving.abort();
  const third = await eventually(
    async () => {
      const answer = await fetch(`${ops.url}/api/log/snapshot`, { headers });
      return answer.status === 200 ? answer : null;
    },
    { what: 'a place for another' },
  );
  holding.resolve(null);
  await third.arrayBuffer();
  expect(made).toBe(2);
  expect(removed).toEqual(['both']);
});

test('what a kill left of snapshots goes, and nothing else', async () => {
  const { removeLeftSnapshots } = await import('../../../src/replication/snapshot-files.ts');
  const path = newPath();
  const name = basename(path);
  const left = [
    `.${name}.snapshot-copied.db`,
    `..${name}.snapshot-copied.db.12.ab`,
    `.${name}.snapshot.log.db`,
  ];
  for (const file of [...left, name, 'mirror.log.db']) writeFileSync(`${dirname(path)}/${file}`, '');
  removeLeftSnapshots(path);
  expect(readdirSync(dirname(path)).toSorted()).toEqual([name, 'mirror.log.db'].toSorted());
});
