import { mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import {
  eventually,
  plainVariants,
  resync,
  rows,
  startMirror,
  startService,
  statusOf,
  temporaryFolder,
  untilAtRest,
  untilLive,
  untilQuiet,
  type Owner,
} from '../process/harness.ts';
import { isInstalled, NAMES, Reader, titleOf } from './reader.ts';

const WHAT = 'keeps an equal copy through a removal, a kill and a new epoch';

const cleanups: (() => unknown)[] = [];
const suite: Owner = { onTestFinished: (cleanup) => void cleanups.unshift(cleanup as () => unknown) };

const readers = new Map<string, Reader>();
let before: ReadonlyMap<string, ReturnType<Reader['compare']> & { readonly starts: readonly string[] }>;
let epochs: readonly [string, string];
let removedVariantId: string;

const late = new Map<string, string>();

async function untilAll(what: string, isIt: (reader: Reader) => boolean): Promise<void> {
  for (const reader of readers.values()) {
    if (late.has(reader.name)) continue;
    await eventually(() => isIt(reader), { what }).catch((error: unknown) => {
      late.set(reader.name, String(error));
    });
  }
}

/** The feed has no name changes, so its followers stop at the last change. */
const hasReached =
  (path: string, seq: number) =>
  ({ name, position }: Reader): boolean =>
    name.startsWith('poll-stock')
      ? position.seq === seq
      : rows(path, 'SELECT 1 FROM mirror_changes WHERE seq > ?', position.seq).length === 0;

const holdsRemoved = ({ copyPath }: Reader): boolean =>
  rows(copyPath, 'SELECT 1 FROM stock WHERE variant_id = ?', removedVariantId).length > 0;

async function killAll(): Promise<void> {
  await Promise.all([...readers.values()].map((reader) => reader.kill()));
}

const isEqual = (reader: Reader): boolean => {
  const { copy, mirror } = reader.compare();
  return isDeepStrictEqual(copy, mirror);
};

beforeAll(async () => {
  // Characters with a meaning in URIs.
  const folder = join(temporaryFolder(suite), `it's 100% a #1?`);
  mkdirSync(folder);
  const sandbox = await startService(suite, { products: 30 });
  const mirror = await startMirror(suite, sandbox, { folder });
  const path = mirror.databasePath;
  for (const name of NAMES.filter(isInstalled))
    readers.set(name, new Reader(name, path, temporaryFolder(suite)));
  suite.onTestFinished(killAll);
  for (const reader of readers.values()) reader.start();
  await untilLive(mirror);
  await untilAll('has its first copy', ({ starts }) => starts.length > 0);
  const epoch = statusOf(path).epoch;

  sandbox.traffic.start(20);
  const [removed, renamed, undone] = plainVariants(sandbox, 3);
  removedVariantId = removed.variantId;
  const began = statusOf(path).last_seq;
  await untilAll('follows', ({ position }) => position.seq > began);
  await untilAll('has the row that will go', holdsRemoved);
  sandbox.operations.deleteProduct(removed.productId);
  await resync(mirror);

  await killAll();
  const positions = new Map([...readers].map(([name, { position }]) => [name, position.seq]));
  sandbox.operations.renameProduct(renamed.productId, 'Renamed');
  await eventually(() => rows(path, `SELECT 1 FROM mirror_changes WHERE reason = 'removed'`).length > 0, {
    what: 'the removal',
  });
  await resync(mirror);
  for (const reader of readers.values()) reader.start();
  await untilAll('goes on', ({ name, position }) => position.seq > present(positions.get(name)));

  sandbox.traffic.stop();
  await untilQuiet(mirror, sandbox);
  const backup = join(temporaryFolder(suite), 'backup.db');
  const db = new Database(path, { readonly: true });
  await db.backup(backup);
  db.close();
  sandbox.operations.add({ ...undone, by: 11 });
  await untilQuiet(mirror, sandbox);
  const seen = statusOf(path).last_seq;
  await untilAll('has seen what the older copy does not know', hasReached(path, seen));
  await untilAll('is equal before the restore', isEqual);
  before = new Map(
    [...readers].map(([name, reader]) => [name, { ...reader.compare(), starts: reader.starts }]),
  );
  await mirror.stop();
  sandbox.operations.add({ ...undone, by: -11 });
  // They must not read the copy before the mirror has begun its new epoch.
  for (const reader of readers.values()) reader.signal('SIGSTOP');
  renameSync(backup, path);
  const restored = await startMirror(suite, sandbox, { folder: dirname(path) });
  await eventually(() => statusOf(path).epoch !== epoch, { what: 'the new epoch' });
  for (const reader of readers.values()) reader.signal('SIGCONT');
  await untilLive(restored);
  sandbox.traffic.start(20);
  const answered = sandbox.deliveries.counts.answered;
  await eventually(() => sandbox.deliveries.counts.answered > answered + 20, { what: 'traffic' });
  sandbox.traffic.stop();
  await untilAtRest(restored, sandbox);
  await untilAll('ends equal', isEqual);
  epochs = [epoch, statusOf(path).epoch];
});

afterAll(async () => {
  for (const cleanup of cleanups) await cleanup();
});

for (const name of NAMES) {
  test.skipIf(!isInstalled(name))(titleOf(name, WHAT), () => {
    const reader = present(readers.get(name));
    expect(late.get(name), reader.stderr).toBeUndefined();
    expect(reader.isRunning, reader.stderr).toBe(true);
    const { starts, ...compared } = present(before.get(name));
    expect(starts).toEqual([epochs[0]]);
    expect(compared.copy).toEqual(compared.mirror);
    expect(reader.starts).toEqual(epochs);
    const { copy, mirror } = reader.compare();
    expect(mirror.length).toBeGreaterThan(30);
    expect(copy).toEqual(mirror);
    expect(holdsRemoved(reader)).toBe(false);
  });
}
