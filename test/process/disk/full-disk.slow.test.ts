/** A full disk (docs/architecture.md#when-nothing-can-be-committed). */
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inboxPath } from '../../../src/inbox/inbox-file.ts';
import {
  environmentFor,
  eventually,
  inboxRows,
  rows,
  spawnMirror,
  startBoth,
  startMirror,
  startService,
  statusOf,
  temporaryFolder,
  untilAtRest,
  untilLogged,
} from '../harness.ts';
import { startLoad, unanswered, withStatus } from '../load.ts';
import { canMount, smallDisk } from './small-disk.ts';

const MB = 1 << 20;
const isAble = canMount();
const needs = isAble ? '' : ' (skipped: file systems cannot be mounted here)';

test.skipIf(!isAble)(
  `answers 503 on a full disk and repairs itself once there is room${needs}`,
  async (t) => {
    const disk = smallDisk(t, 48 * MB);
    const { sandbox, mirror } = await startBoth(
      t,
      { products: 20, ackTimeoutMs: 30_000 },
      { folder: disk.folder },
    );
    const load = startLoad(t, sandbox, 100);
    await eventually(() => withStatus(load, 204).length > 50, { what: 'traffic' });

    const runs = (): unknown[] => rows(mirror.databasePath, 'SELECT id, kind FROM runs');
    const runsBefore = runs();
    disk.fill();
    await eventually(() => withStatus(load, 503).length > 100, { what: 'deliveries are refused' });
    await untilLogged(mirror, (line) => JSON.stringify(line).includes('free disk space'), 'what to do');

    disk.free();
    const freedAt = load.settled.length;
    await eventually(() => withStatus(load, 204, freedAt).length > 50, { what: 'deliveries are accepted' });
    expect((await fetch(mirror.webhookUrl.replace('/webhooks', '/healthz'))).status).toBe(200);
    load.stop();
    await untilAtRest(mirror, sandbox);
    expect(unanswered(load)).toEqual([]);
    expect(statusOf(mirror.databasePath)).toMatchObject({ state: 'live', open_gaps: 0 });
    expect(rows(mirror.databasePath, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(inboxRows(mirror.databasePath, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    // Only what the refused deliveries concern is read: nobody was told by /healthz to send others elsewhere.
    expect(runs()).toEqual(runsBefore);
  },
);

test.skipIf(!isAble)(`exits 1 at a start on a full disk and names file and remedy${needs}`, async (t) => {
  const sandbox = await startService(t);
  const disk = smallDisk(t, 12 * MB);
  const path = join(disk.folder, 'mirror.db');
  const env = environmentFor(sandbox, path);
  disk.fill();
  const refused = spawnMirror(t, env, disk.folder);
  expect(await refused.ended).toEqual({ code: 1, signal: null });
  expect(refused.stderr).toBe(
    `error: ${inboxPath(path)} has no room on its disk (SQLITE_FULL): free disk space there.\n`,
  );

  disk.free();
  const mirror = await startMirror(t, sandbox, { folder: disk.folder });
  await untilAtRest(mirror, sandbox);
  await mirror.stop();

  disk.fill();
  const again = spawnMirror(t, env, disk.folder);
  expect(await again.ended).toEqual({ code: 1, signal: null });
  expect(again.stderr).toMatch(
    /^error: \S+mirror\.inbox\.db has no room on its disk \(SQLITE_\w+\): free disk space there\.\n$/,
  );
});

test.skipIf(!isAble)(
  `answers 204 while only the mirror’s disk is full, running and at a start${needs}`,
  async (t) => {
    const disk = smallDisk(t, 24 * MB);
    const { folder } = disk;
    symlinkSync(join(temporaryFolder(t), 'mirror.inbox.db'), join(folder, 'mirror.inbox.db'));
    const { sandbox, mirror: first } = await startBoth(t, { products: 20, ackTimeoutMs: 30_000 }, { folder });
    let mirror = first;
    const isFull = async (): Promise<boolean> => {
      const { body } = await mirror.get('/api/status');
      return JSON.stringify(body).includes('has no room on its disk');
    };
    const untilDelivered = async (): Promise<void> => {
      const load = startLoad(t, sandbox, 50);
      await eventually(isFull, { what: 'the words' });
      await eventually(() => load.settled.length > 50, { what: 'traffic' });
      load.stop();
      await sandbox.network.idle();
      expect(load.settled.filter(({ status }) => status !== 204)).toEqual([]);
      expect((await fetch(mirror.webhookUrl.replace('/webhooks', '/healthz'))).status).toBe(200);
    };
    disk.fill();
    await untilDelivered();
    disk.free();
    await untilAtRest(mirror, sandbox);
    await mirror.stop();

    disk.fill();
    mirror = await startMirror(t, sandbox, { folder });
    await untilDelivered();
    disk.free();
    await untilAtRest(mirror, sandbox);
    expect(rows(mirror.databasePath, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  },
);

test.skipIf(!isAble)(`says that no inodes are left${needs}`, async (t) => {
  const sandbox = await startService(t);
  const { folder } = smallDisk(t, 12 * MB, 1);
  const path = join(folder, 'mirror.db');
  const refused = spawnMirror(t, environmentFor(sandbox, path), folder);
  expect(await refused.ended).toEqual({ code: 1, signal: null });
  expect(refused.stderr).toMatch(
    /^error: \S+mirror\.\S+ cannot be opened, since its file system has no inodes left \(\w+\): delete files there\.\n$/,
  );
});
