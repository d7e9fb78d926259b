import { rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { inboxPath, openInbox } from '../../src/inbox/inbox.ts';
import { InboxClient } from '../../src/inbox/inbox-client.ts';
import {
  lockAndOpen,
  serveInbox,
  type InboxCalls,
  type InboxCommit,
  type OpenInbox,
} from '../../src/inbox/serve-inbox.ts';
import type { Reply, Request } from '../../src/sqlite/worker.ts';
import { delivery, item, newPath, T0, values } from '../mirror/mirror-file.ts';
import { fakeThread } from '../mirror/fake-thread.ts';

interface Opened {
  readonly client: InboxClient;
  readonly commits: InboxCommit[];
  readonly deaths: Error[];
  readonly path: string;
  readonly end: () => void;
}

async function open(path = newPath(), inbox: () => OpenInbox = () => lockAndOpen(path)): Promise<Opened> {
  const commits: InboxCommit[] = [];
  const deaths: Error[] = [];
  const { thread, end } = fakeThread<Request<InboxCalls>, Reply<InboxCommit>>((owner) =>
    serveInbox(owner, inbox),
  );
  const client = await InboxClient.open(thread, {
    onDeath: (error) => void deaths.push(error),
    onCommit: (commit) => void commits.push(commit),
  });
  onTestFinished(() => client.close());
  return { client, commits, deaths, path, end };
}

const BEAT = { atMs: T0, clockMs: T0, missedSinceMs: null, changeSeq: 0, stream: null };

const body = (n: number): Uint8Array => delivery(`r${n}`, item({ id: String(n) }));

test('commits deliveries of one turn of the event loop together', async () => {
  const { client, commits } = await open();
  const appended = [1, 2, 1, 3].map((n) => client.append(body(n), T0));
  await Promise.all(appended);
  expect(commits.map(({ deliveries, error }) => [deliveries, error])).toEqual([[4, null]]);
  expect(client.lastSeq).toBe(3);
});

test('rejects the deliveries of a failed commit and accepts the next', async () => {
  const { client, commits, path } = await open();
  const other = new Database(inboxPath(path));
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  const refused = await Promise.allSettled([client.append(body(1), T0), client.append(body(2), T0)]);
  for (const one of refused) expect(one).toMatchObject({ status: 'rejected', reason: { kind: 'busy' } });
  expect(commits).toMatchObject([{ deliveries: 2, error: { kind: 'busy' } }]);
  expect(client.lastSeq).toBe(0);
  other.exec('COMMIT');
  await client.append(body(1), T0);
  expect(client.lastSeq).toBe(1);
});

test('a quiet inbox bounds its write-ahead log and checks its files at each heartbeat', async () => {
  const path = newPath();
  const own = lockAndOpen(path);
  own.db.pragma('synchronous = OFF');
  const check = vi.spyOn(own, 'check');
  const { client } = await open(path, () => own);
  for (let n = 0; n < 2_100; n += 1) await client.beat(BEAT);
  expect(check).toHaveBeenCalledTimes(2_100);
  expect(statSync(`${inboxPath(path)}-wal`).size).toBeLessThan(5e6);
  rmSync(`${inboxPath(path)}.lock`);
  expect(() => own.check()).toThrow('another program deleted');
});

test('commits pending deliveries on close', async () => {
  const { client, path, commits, deaths } = await open();
  const asked = [client.beat(BEAT), client.append(body(1), T0)];
  await Promise.all([client.close(), client.close(), ...asked]);
  // The heartbeat shares the commit of the deliveries.
  expect(commits.map(({ deliveries }) => deliveries)).toEqual([1]);
  await expect(client.append(body(2), T0)).rejects.toMatchObject({ kind: 'closed' });
  expect(deaths).toEqual([]);
  const db = openInbox(inboxPath(path));
  expect(values(db, 'SELECT seq FROM inbox')).toEqual([1]);
  db.close();
  await open(path);
});

test('rejects pending calls if the thread ends and reports it once', async () => {
  const db = openInbox(newPath());
  onTestFinished(() => void db.close());
  const held = { db, check: () => undefined, close: () => undefined };
  const { client, deaths, end } = await open(undefined, () => held);
  const waiting = client.beat(BEAT);
  end();
  await expect(waiting).rejects.toMatchObject({ kind: 'closed' });
  await client.close();
  expect(deaths).toMatchObject([{ kind: 'closed' }]);
});
