/** What the writer's owner is told of its transactions. */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { watchCommits, type CommitReport } from '../../src/store/commit-watch.ts';
import type { Thread } from '../../src/store/thread.ts';
import { serveWriter, type FromWriter, type ToWriter } from '../../src/store/write-loop.ts';
import { WriterClient } from '../../src/store/writer-client.ts';
import { delivery, item, newPath, readEntry, T0, writerDb } from './mirror-file.ts';

/** The real writer, with this thread for its own: what was posted meanwhile is taken at once. */
function writerHere(path: string): Thread<ToWriter, FromWriter> {
  const inbox: ToWriter[] = [];
  let serve: (message: ToWriter) => void = () => undefined;
  let tell: (message: FromWriter) => void = () => undefined;
  const work = (): void => {
    const message = inbox.shift();
    if (message !== undefined) serve(message);
  };
  setImmediate(() => {
    serveWriter(
      {
        post: (message) => tell(message),
        onMessage: (listener) => (serve = listener),
        take: () => inbox.shift(),
        close: () => undefined,
      },
      () => ({ db: writerDb(path), news: [], beforeClose: () => [], release: () => undefined }),
    );
  });
  return {
    post: (message) => {
      inbox.push(message);
      setImmediate(work);
    },
    onMessage: (listener) => (tell = listener),
    onEnd: () => undefined,
  };
}

async function watchedWriter() {
  const path = newPath();
  const reports: CommitReport[] = [];
  const thread = watchCommits(writerHere(path), (report) => void reports.push(report));
  const writer = await WriterClient.open(thread, {
    onDeath: () => undefined,
    onHistoryNews: () => undefined,
  });
  return { path, reports, writer };
}

test('every transaction is told: what it took, how long, and why it failed', async () => {
  const { path, reports, writer } = await watchedWriter();
  const deliveries = Array.from({ length: 200 }, (_, n) =>
    writer.appendDelivery(delivery(`r${n}`, item({ id: String(n) })), Date.now()),
  );
  await Promise.all([...deliveries, writer.command('alive', { atMs: Date.now() })]);
  // A question is no transaction.
  await writer.branchCounts();
  expect(reports.map(({ inputs }) => inputs).reduce((sum, inputs) => sum + inputs)).toBe(201);
  expect(reports.length).toBeLessThan(20);
  expect(reports.every(({ error }) => error === null)).toBe(true);
  for (const { tookMs } of reports) expect(tookMs).toBeGreaterThan(0);

  const other = new Database(path);
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  const before = reports.length;
  const startedMs = performance.now();
  await expect(writer.command('alive', { atMs: 1 })).rejects.toThrow('another program holds');
  const waitedMs = performance.now() - startedMs;
  expect(reports.slice(before)).toMatchObject([{ inputs: 1, error: { kind: 'busy' } }]);
  // As long as it waited for the lock, and not since the transaction before.
  expect(reports[before]?.tookMs).toBeGreaterThan(400);
  expect(reports[before]?.tookMs).toBeLessThanOrEqual(waitedMs);
});

test('reads share a transaction, none waits in vain for others, and what is asked after them comes after them', async () => {
  const { reports, writer } = await watchedWriter();
  const read = (id: number) => writer.append(readEntry(String(id), null, { sentAtMs: T0 + id, s0: 0 }));
  expect((await read(1)).seq).toBe(1);
  expect(reports.map(({ inputs }) => inputs)).toEqual([1]);

  const six = [2, 3, 4, 5, 6, 7].map(read);
  const after = writer.append({
    kind: 'oblige',
    atMs: T0,
    reason: 'not_stored',
    productIds: ['9'],
    variantIds: [],
  });
  expect((await Promise.all([...six, after])).map(({ seq }) => seq)).toEqual([2, 3, 4, 5, 6, 7, 8]);
  expect(reports.map(({ inputs }) => inputs)).toEqual([1, 7]);

  const last = [10, 11].map(read);
  await writer.close();
  expect((await Promise.all(last)).map(({ seq }) => seq)).toEqual([9, 10]);
});
