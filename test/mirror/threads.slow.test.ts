import { existsSync, statSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import type { SqliteFault } from '../../src/sqlite/errors.ts';
import type { NewEpoch } from '../../src/mirror/start.ts';
import { realFiles } from '../../src/app/mirror.ts';
import { Mirror } from '../../src/mirror/mirror.ts';
import { eventually } from '../process/wait.ts';
import {
  allApplied,
  delivery,
  item,
  newPath,
  readerDb,
  startDatabases,
  T0,
  values,
  type StartedDatabases,
} from './mirror-file.ts';

const bodies = (count: number, from = 0): Uint8Array[] =>
  Array.from({ length: count }, (_, n) => delivery(`r${from + n}`, item({ id: String(from + n) })));

const changesIn = (path: string): number | undefined =>
  values<number>(readerDb(path), 'SELECT count(*) FROM changes')[0];

interface Watched extends StartedDatabases {
  readonly epochs: (NewEpoch | null)[];
  readonly faults: (SqliteFault | null)[];
}

async function watched(path?: string): Promise<Watched> {
  const epochs: Watched['epochs'] = [];
  const faults: Watched['faults'] = [];
  const databases = await startDatabases(path, {
    onOpened: (newEpoch) => void epochs.push(newEpoch),
    onFault: (fault) => void faults.push(fault),
  });
  return { ...databases, epochs, faults };
}

test('stores each appended delivery before it resolves and applies them in order', async () => {
  const databases = await startDatabases();
  const { inbox, mirror, path } = databases;
  const found = readerDb(path).prepare('SELECT 1 FROM inbox WHERE seq = ?').pluck();
  const positions: number[] = [];
  mirror.onApplied(() => void positions.push(mirror.position.inboxSeq));
  for (const body of bodies(300)) {
    inbox.append(body, T0);
    expect(found.get(inbox.lastSeq)).toBe(1);
  }
  await allApplied(databases);
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  expect(changesIn(path)).toBe(300);
});

test('applies waiting rows on close and continues from there', async () => {
  const path = newPath();
  const databases = await startDatabases(path);
  for (const body of bodies(200)) databases.inbox.append(body, T0);
  await Promise.all([databases.close(), databases.close()]);
  await expect(databases.mirror.ask('status')).rejects.toMatchObject({ kind: 'closed' });
  expect([statSync(`${path}-wal`).size, existsSync(`${path}-shm`)]).toEqual([0, true]);
  const next = await watched(path);
  expect([next.inbox.lastSeq, next.epochs]).toEqual([200, [null]]);
  await allApplied(next);
  expect(changesIn(path)).toBe(200);
});

test('restarts a dead apply thread', async () => {
  const workers: Worker[] = [];
  const note = (worker: Worker): void => void workers.push(worker);
  process.on('worker', note);
  onTestFinished(() => void process.off('worker', note));
  const databases = await watched();
  await workers[0]?.terminate();
  await eventually(() => databases.epochs.length === 2, { what: 'the mirror is open again' });
  await databases.mirror.command('retryFailures', undefined);
  expect(databases.faults).toMatchObject([{ kind: 'closed' }, null]);
  await databases.close();
});

test('a second mirror of the same file fails until the first one has closed', async () => {
  const path = newPath();
  const first = await startDatabases(path);
  const faults: (SqliteFault | null)[] = [];
  const opened: (NewEpoch | null)[] = [];
  const second = new Mirror(
    realFiles(path),
    { onOpened: (epoch) => void opened.push(epoch), onFault: (fault) => void faults.push(fault) },
    () => 0,
  );
  second.open();
  onTestFinished(() => second.close());
  await second.tried;
  expect(faults).toMatchObject([{ kind: 'in_use' }]);
  await first.mirror.close();
  await eventually(() => opened.length === 1, { what: 'the second one is open' });
});
