import { existsSync, statSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { inboxPath } from '../../src/inbox/inbox.ts';
import type { StoreError } from '../../src/sqlite/errors.ts';
import type { NewEpoch } from '../../src/mirror/start.ts';
import { eventually } from '../process/wait.ts';
import {
  allApplied,
  delivery,
  inboxAt,
  item,
  newPath,
  readerDb,
  storeAt,
  T0,
  values,
  type OpenStore,
} from './mirror-file.ts';

const bodies = (count: number, from = 0): Uint8Array[] =>
  Array.from({ length: count }, (_, n) => delivery(`r${from + n}`, item({ id: String(from + n) })));

const changesIn = (path: string): number | undefined =>
  values<number>(readerDb(path), 'SELECT count(*) FROM changes')[0];

interface Watched extends OpenStore {
  readonly epochs: (NewEpoch | null)[];
  readonly faults: (StoreError | null)[];
}

async function watched(path?: string): Promise<Watched> {
  const epochs: Watched['epochs'] = [];
  const faults: Watched['faults'] = [];
  const store = await storeAt(path, {
    onOpened: (newEpoch) => void epochs.push(newEpoch),
    onFault: (fault) => void faults.push(fault),
  });
  return { ...store, epochs, faults };
}

test('stores each appended delivery before it resolves and applies them in order', async () => {
  const store = await storeAt();
  const { inbox, mirror, path } = store;
  const found = readerDb(path).prepare('SELECT 1 FROM inbox WHERE seq = ?').pluck();
  const positions: number[] = [];
  mirror.onApplied(() => void positions.push(mirror.position.inboxSeq));
  await Promise.all(
    bodies(300).map(async (body) => {
      await inbox.append(body, T0);
      expect(found.get(inbox.lastSeq)).toBe(1);
    }),
  );
  await allApplied(store);
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  expect(changesIn(path)).toBe(300);
});

test('commits pending deliveries on close and continues from there', async () => {
  const path = newPath();
  const store = await storeAt(path);
  const waiting = bodies(200).map((body) => store.inbox.append(body, T0));
  await Promise.all([store.close(), store.close(), ...waiting]);
  await expect(store.reader.ask('status')).rejects.toMatchObject({ kind: 'closed' });
  expect(store.deaths).toEqual([]);
  expect([statSync(`${path}-wal`).size, existsSync(`${path}-shm`)]).toEqual([0, true]);
  const next = await watched(path);
  expect([next.inbox.lastSeq, next.epochs]).toEqual([200, [null]]);
  await allApplied(next);
  expect(changesIn(path)).toBe(200);
});

test('restarts a dead apply thread and ends with a dead inbox thread', async () => {
  const workers: Worker[] = [];
  const note = (worker: Worker): void => void workers.push(worker);
  process.on('worker', note);
  onTestFinished(() => void process.off('worker', note));
  const store = await watched();
  const [inboxThread, applyThread] = workers;
  await applyThread?.terminate();
  await eventually(() => store.epochs.length === 2, { what: 'the mirror is open again' });
  await store.mirror.command('retryFailures', undefined);
  expect(store.faults).toMatchObject([{ kind: 'closed' }, null]);
  await inboxThread?.terminate();
  await expect(store.inbox.append(delivery('a', item()), T0)).rejects.toMatchObject({ kind: 'closed' });
  await eventually(() => store.deaths.length === 1, { what: 'the death is reported' });
  await store.close();
});

test.each<[string, string, (path: string) => unknown]>([
  ['an inbox that is in use', 'in_use', (path) => storeAt(path)],
  [
    'an inbox of another program',
    'not_a_database',
    (path) => new Database(inboxPath(path)).exec('CREATE TABLE theirs (x)').close(),
  ],
])('names %s', async (_, kind, make) => {
  const path = newPath();
  await make(path);
  await expect(inboxAt(path)).rejects.toMatchObject({
    kind,
    message: expect.stringContaining(inboxPath(path)),
  });
});
