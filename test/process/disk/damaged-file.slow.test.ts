/** Files beside mirror and event log that go missing while they are stopped, and files that are damaged. */
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { present } from '../../shared/present.ts';
import {
  environmentFor,
  eventually,
  plainVariants,
  rows,
  spawnMirror,
  startBoth,
  startMirror,
  untilEqual,
  untilLive,
  type MirrorProcess,
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

const feedOf = (path: string): unknown[] => rows(path, 'SELECT * FROM mirror_changes ORDER BY seq');

/** The history goes on: what was told before stands, under the same numbers. */
function expectContinued(path: string, before: Epoch, feed: readonly unknown[]): void {
  const after = epochOf(path);
  expect(after.epoch).toBe(before.epoch);
  expect(after.last_seq).toBeGreaterThanOrEqual(before.last_seq);
  expect(feedOf(path).slice(0, feed.length)).toEqual(feed);
}

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
  const mark = (): unknown => JSON.parse(readFileSync(`${mirror.databasePath}.mark`, 'utf8'));
  await eventually(() => (mark() as { changeSeq: number }).changeSeq === lastSeq, {
    what: 'the mark is kept',
  });
  await mirror.kill();
  return { sandbox, mirror, folder: dirname(mirror.databasePath) };
}

/** Where a table begins in the file. */
function pageOf(path: string, table: string): number {
  const found = present(
    rows<{ rootpage: number }>(path, 'SELECT rootpage FROM sqlite_master WHERE name = ?', table)[0],
  );
  return found.rootpage;
}

function overwrite(path: string, page: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(PAGE_BYTES, 0x5a), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  closeSync(file);
}

async function refusedStart(t: Owner, sandbox: Sandbox, path: string): Promise<string> {
  const refused = spawnMirror(t, environmentFor(sandbox, path), dirname(path));
  expect(await refused.ended).toEqual({ code: 1, signal: null });
  return refused.stderr;
}

const REMEDY = 'move the file away: the next start makes it again, from the event log or from the store';

test.concurrent('without its shared memory a killed mirror comes back whole', async (t) => {
  const { sandbox, mirror, folder } = await killed(t);
  const before = epochOf(mirror.databasePath);
  rmSync(`${mirror.databasePath}-shm`);
  const again = await startMirror(t, sandbox, { folder });
  expect(epochOf(again.databasePath)).toEqual(before);
  await untilLive(again);
  await untilEqual(again, sandbox);
});

test.concurrent(
  'without its write-ahead log a killed mirror is behind the event log, and catches up with it',
  async (t) => {
    const { sandbox, mirror, folder } = await killed(t);
    const before = epochOf(mirror.databasePath);
    const feed = feedOf(mirror.databasePath);
    expect(statSync(`${mirror.databasePath}-wal`).size).toBeGreaterThan(PAGE_BYTES);
    rmSync(`${mirror.databasePath}-wal`);
    expect(epochOf(mirror.databasePath).last_seq).toBeLessThan(before.last_seq);
    const again = await startMirror(t, sandbox, { folder });
    await untilLive(again);
    await untilEqual(again, sandbox);
    expectContinued(again.databasePath, before, feed);
    expect(again.log.some((line) => line['type'] === 'new_epoch')).toBe(false);
    expect(rows(again.databasePath, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  },
);

test.concurrent(
  'without its write-ahead log a killed event log has lost what it held: a new epoch, and everything is read again',
  async (t) => {
    const { sandbox, mirror, folder } = await killed(t);
    const before = epochOf(mirror.databasePath);
    const wal = `${eventLogPath(mirror.databasePath)}-wal`;
    expect(statSync(wal).size).toBeGreaterThan(PAGE_BYTES);
    rmSync(wal);
    const again = await startMirror(t, sandbox, { folder });
    const after = await eventually(
      () => {
        const now = epochOf(again.databasePath);
        return now.epoch !== before.epoch && now;
      },
      { what: 'a new epoch' },
    );
    // No number is given out a second time.
    expect(after.last_seq).toBeGreaterThan(before.last_seq);
    expect(again.log.some((line) => String(line['msg']).startsWith('a new epoch has begun'))).toBe(true);
    await untilLive(again);
    await untilEqual(again, sandbox);
  },
);

/** What was found damaged is kept beside it. */
const asideOf = (path: string): string[] =>
  readdirSync(dirname(path)).filter((name) => /^mirror\.db\.damaged-\d{8}T\d{6}Z$/.test(name));

const saysSo = ({ log }: MirrorProcess): boolean => log.some((line) => line['type'] === 'mirror_set_aside');

const DAMAGES: [string, (path: string) => void][] = [
  [
    'cut in half',
    (path) => truncateSync(path, Math.floor(statSync(path).size / PAGE_BYTES / 2) * PAGE_BYTES),
  ],
  ['whose first page is overwritten', (path) => overwrite(path, 1)],
  [
    'of which a table that every start reads is overwritten',
    (path) => overwrite(path, pageOf(path, 'mirror_state')),
  ],
];

for (const [name, damage] of DAMAGES) {
  test.concurrent(
    `a mirror ${name} is moved aside by the start, which makes it again from the event log`,
    async (t) => {
      const { sandbox, mirror } = await startBoth(t, { products: 20 });
      await mirror.stop();
      const path = mirror.databasePath;
      const before = epochOf(path);
      const feed = feedOf(path);
      damage(path);
      const again = await startMirror(t, sandbox, { folder: dirname(path) });
      await untilLive(again);
      await untilEqual(again, sandbox);
      expectContinued(path, before, feed);
      expect(saysSo(again)).toBe(true);
      expect(asideOf(path)).toHaveLength(1);
    },
  );
}

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

test.concurrent(
  'a damaged page of the event log that every start reads is told, and ends the start',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t, { products: 12 });
    const file = eventLogPath(mirror.databasePath);
    const page = pageOf(file, 'log');
    await mirror.stop();
    overwrite(file, page);
    const said = await refusedStart(t, sandbox, mirror.databasePath);
    expect(said).toMatch(/^error: [^\n]+ is damaged[^\n]+\n$/);
    expect(said).toContain(file);
    expect(said).toContain(REMEDY);
  },
);

test.concurrent(
  'a damaged page that only a change meets: 204, and the mirror is made again while it runs',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t, { products: 12 });
    const [level] = plainVariants(sandbox, 1);
    const path = mirror.databasePath;
    const page = pageOf(path, 'changes');
    const before = epochOf(path);
    const feed = feedOf(path);
    await mirror.stop();
    expect(existsSync(`${path}-wal`)).toBe(false);
    overwrite(path, page);

    const damaged = await startMirror(t, sandbox, { folder: dirname(path) });
    for (let n = 0; n < 5; n += 1) sandbox.operations.add({ ...level, by: 1 });
    await sandbox.network.idle();
    expect(sandbox.deliveries.records.slice(-5).map(({ status }) => status)).toEqual([
      204, 204, 204, 204, 204,
    ]);
    await eventually(() => saysSo(damaged), { what: 'the log says what was done' });
    await untilLive(damaged);
    await untilEqual(damaged, sandbox);
    expectContinued(path, before, feed);
    expect(epochOf(path).last_seq).toBeGreaterThan(before.last_seq);
    expect(asideOf(path)).toHaveLength(1);
    expect(await damaged.stop()).toEqual({ code: 0, signal: null });
  },
);
