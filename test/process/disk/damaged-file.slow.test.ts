/** Files of mirror and event log that go missing or are damaged while the mirror is stopped. */
import { existsSync, rmSync, statSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { present } from '../../shared/present.ts';
import {
  environmentFor,
  eventually,
  logRows,
  plainVariants,
  rows,
  spawnMirror,
  startBoth,
  startMirror,
  untilEqual,
  untilLive,
  type Owner,
  type RunningMirror,
} from '../harness.ts';

const PAGE_BYTES = 4_096;

interface Epoch {
  readonly epoch: string;
  readonly last_seq: number;
}

const epochOf = (path: string): Epoch =>
  present(rows<Epoch>(path, 'SELECT epoch, last_seq FROM mirror_status')[0]);

/** A mirror that has been in use, as a kill leaves it. */
async function killed(t: Owner): Promise<{ sandbox: Sandbox; mirror: RunningMirror; folder: string }> {
  const { sandbox, mirror: first } = await startBoth(t, { products: 6 });
  await first.stop();
  // Too little for a checkpoint: the database file stays as the stop left it.
  const mirror = await startMirror(t, sandbox, { folder: dirname(first.databasePath) });
  await untilLive(mirror);
  for (const level of plainVariants(sandbox, 1)) sandbox.operations.add({ ...level, by: 1 });
  await sandbox.network.idle();
  await untilEqual(mirror, sandbox);
  const { last_seq: lastSeq } = epochOf(mirror.databasePath);
  await eventually(
    () =>
      logRows<{ change_seq: number }>(mirror.databasePath, 'SELECT change_seq FROM metadata')[0]
        ?.change_seq === lastSeq,
    { what: 'the event log knows what was handed out' },
  );
  await mirror.kill();
  return { sandbox, mirror, folder: dirname(mirror.databasePath) };
}

async function refusedStart(t: Owner, sandbox: Sandbox, path: string): Promise<string> {
  const refused = spawnMirror(t, environmentFor(sandbox, path), dirname(path));
  expect(await refused.ended).toEqual({ code: 1, signal: null });
  return refused.stderr;
}

const REMEDY = 'move the file away: the next start reads everything from the store';

test.concurrent('without its shared memory a killed mirror comes back whole', async (t) => {
  const { sandbox, mirror, folder } = await killed(t);
  const before = epochOf(mirror.databasePath);
  rmSync(`${mirror.databasePath}-shm`);
  const again = await startMirror(t, sandbox, { folder });
  expect(epochOf(again.databasePath)).toEqual(before);
  await untilLive(again);
  await untilEqual(again, sandbox);
});

const DAMAGES: [string, (path: string) => void][] = [
  ['a mirror without its write-ahead log', (path) => rmSync(`${path}-wal`)],
  ['an event log without its write-ahead log', (path) => rmSync(`${eventLogPath(path)}-wal`)],
  [
    'a mirror cut in half',
    (path) => {
      rmSync(`${path}-wal`);
      truncateSync(path, Math.floor(statSync(path).size / PAGE_BYTES / 2) * PAGE_BYTES);
    },
  ],
];

test.concurrent.for(DAMAGES)('%s begins a new epoch, and everything is read again', async ([, damage], t) => {
  const { sandbox, mirror, folder } = await killed(t);
  const before = epochOf(mirror.databasePath);
  damage(mirror.databasePath);
  const again = await startMirror(t, sandbox, { folder });
  await untilLive(again);
  await untilEqual(again, sandbox);
  const after = epochOf(again.databasePath);
  expect(after.epoch).not.toBe(before.epoch);
  // No number is given out a second time.
  expect(after.last_seq).toBeGreaterThan(before.last_seq);
  expect(again.log.some((line) => String(line['msg']).startsWith('a new epoch has begun'))).toBe(true);
  expect(existsSync(`${mirror.databasePath}.aside`)).toBe(true);
});

test.concurrent('an event log cut in half is refused, and moved away a new one is begun', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 20 });
  await mirror.stop();
  const path = mirror.databasePath;
  const before = epochOf(path);
  const logPath = eventLogPath(path);
  truncateSync(logPath, Math.floor(statSync(logPath).size / PAGE_BYTES / 2) * PAGE_BYTES);
  const said = await refusedStart(t, sandbox, path);
  expect(said).toMatch(/^error: \S+mirror\.log\.db is damaged \(SQLITE_CORRUPT\w*\): [^\n]+\n$/);
  expect(said).toContain(REMEDY);

  for (const suffix of ['', '-wal', '-shm']) rmSync(logPath + suffix, { force: true });
  const again = await startMirror(t, sandbox, { folder: dirname(path) });
  await untilLive(again);
  await untilEqual(again, sandbox);
  const after = epochOf(path);
  expect(after.epoch).not.toBe(before.epoch);
  expect(after.last_seq).toBeGreaterThan(before.last_seq);
});
