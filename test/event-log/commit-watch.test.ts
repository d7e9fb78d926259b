/** What the event log's owner is told of its transactions. */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { watchCommits, type CommitReport } from '../../src/event-log/commit-watch.ts';
import type { Thread } from '../../src/platform/thread.ts';
import { serveEventLog, type FromLog, type ToLog } from '../../src/event-log/append-loop.ts';
import { encodeEntry } from '../../src/event-log/entries.ts';
import { EventLog } from '../../src/event-log/event-log.ts';
import { LogClient } from '../../src/event-log/log-client.ts';
import { openLogForAppending } from '../../src/event-log/open-log.ts';
import { delivery, item, newPath, readEntry, T0 } from '../mirror/mirror-file.ts';

/** The real event log, with this thread for its own: what was posted meanwhile is taken at once. */
function logHere(path: string): Thread<ToLog, FromLog> {
  const inbox: ToLog[] = [];
  let serve: (message: ToLog) => void = () => undefined;
  let tell: (message: FromLog) => void = () => undefined;
  const work = (): void => {
    const message = inbox.shift();
    if (message !== undefined) serve(message);
  };
  setImmediate(() => {
    serveEventLog(
      {
        post: (message) => tell(message),
        onMessage: (listener) => (serve = listener),
        take: () => inbox.shift(),
        close: () => undefined,
      },
      () => {
        const db = openLogForAppending(path);
        onTestFinished(() => void db.close());
        return {
          db,
          log: new EventLog(db),
          news: [],
          heal: () => [],
          look: () => undefined,
          release: () => undefined,
        };
      },
    );
  });
  return {
    post: (message) => {
      inbox.push(message);
      setImmediate(work);
    },
    onMessage: (listener) => (tell = listener),
    onEnd: () => undefined,
    stop: () => Promise.resolve(),
  };
}

async function watchedLog() {
  const path = newPath();
  const reports: CommitReport[] = [];
  const thread = watchCommits(logHere(path), (report) => void reports.push(report));
  const log = await LogClient.open(thread, {
    onDeath: () => undefined,
    onAppended: () => undefined,
  });
  return { path, reports, log };
}

test('every transaction is told: what it took, how long, and why it failed', async () => {
  const { path, reports, log } = await watchedLog();
  const deliveries = Array.from({ length: 200 }, (_, n) =>
    log.appendDelivery(delivery(`r${n}`, item({ id: String(n) })), Date.now()),
  );
  await Promise.all([...deliveries, log.beat(Date.now(), 0)]);
  expect(reports.map(({ inputs }) => inputs).reduce((sum, inputs) => sum + inputs)).toBe(201);
  expect(reports.length).toBeLessThan(20);
  expect(reports.every(({ error }) => error === null)).toBe(true);
  for (const { tookMs } of reports) expect(tookMs).toBeGreaterThan(0);

  const other = new Database(path);
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  const before = reports.length;
  await expect(log.beat(1, 0)).rejects.toThrow('another program holds');
  expect(reports.slice(before)).toMatchObject([{ inputs: 1, error: { kind: 'busy' } }]);
  expect(reports[before]?.tookMs).toBeGreaterThan(400);
});

test('what comes together shares a transaction, in the order in which it came, and closing waits for it', async () => {
  const { reports, log } = await watchedLog();
  const read = (id: number) =>
    log.appendEntry(encodeEntry(readEntry(String(id), null, { sentAtMs: T0 + id, s0: 0 })));
  expect((await read(1)).seq).toBe(1);
  expect(reports.map(({ inputs }) => inputs)).toEqual([1]);

  const six = [2, 3, 4, 5, 6, 7].map(read);
  const after = log.appendEntry(
    encodeEntry({ kind: 'oblige', atMs: T0, reason: 'not_stored', productIds: ['9'], variantIds: [] }),
  );
  expect((await Promise.all([...six, after])).map(({ seq }) => seq)).toEqual([2, 3, 4, 5, 6, 7, 8]);
  expect(reports.map(({ inputs }) => inputs)).toEqual([1, 7]);

  const last = [10, 11].map(read);
  await log.close();
  expect((await Promise.all(last)).map(({ seq }) => seq)).toEqual([9, 10]);
});
