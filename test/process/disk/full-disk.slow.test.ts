/**
 * No room on the disk of event log and mirror: in the middle of the work, and at the start
 * (docs/architecture.md#when-nothing-can-be-committed).
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import {
  environmentFor,
  eventually,
  logRows,
  rows,
  spawnMirror,
  startMirror,
  startService,
  statusOf,
  untilEqual,
  untilLive,
  untilLogged,
  untilQuiet,
} from '../harness.ts';
import { startLoad, unanswered, withStatus } from '../load.ts';
import { canMount, smallDisk } from './small-disk.ts';

const MB = 1 << 20;
const isAble = canMount();
const needs = isAble ? '' : ' (skipped: file systems cannot be mounted here)';

test.skipIf(!isAble)(
  `a disk that fills up under load: 503 within the second, and once there is room it repairs itself${needs}`,
  async (t) => {
    const disk = smallDisk(t, 48 * MB);
    const sandbox = await startService(t, { products: 20 });
    const mirror = await startMirror(t, sandbox, { folder: disk.folder });
    await untilLive(mirror);
    await untilQuiet(mirror, sandbox);
    const healthUrl = mirror.webhookUrl.replace('/webhooks', '/healthz');
    const load = startLoad(t, sandbox, 100);
    await eventually(() => withStatus(load, 204).length > 50, { what: 'traffic' });

    disk.fill();
    await eventually(() => withStatus(load, 503).length > 100, { what: 'deliveries are refused' });
    // A checkpoint empties the write-ahead log, and then there is room in it for a moment.
    await eventually(async () => (await fetch(healthUrl)).status === 503, { what: 'healthz 503' });
    await untilLogged(mirror, (line) => JSON.stringify(line).includes('free disk space'), 'what to do');

    disk.free();
    const freedAt = load.settled.length;
    await eventually(() => withStatus(load, 204, freedAt).length > 50, { what: 'deliveries are accepted' });
    await eventually(async () => (await fetch(healthUrl)).status === 200, { what: 'healthz 200' });
    load.stop();
    await untilQuiet(mirror, sandbox);
    await untilEqual(mirror, sandbox);
    expect(unanswered(load)).toEqual([]);
    expect(statusOf(mirror.databasePath)).toMatchObject({ state: 'live', suspect_count: 0, open_gaps: 0 });
    expect(rows(mirror.databasePath, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(logRows(mirror.databasePath, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    // Nobody asked for a resync: the first one of the start is all there was.
    expect(rows(mirror.databasePath, 'SELECT kind FROM runs')).toEqual([{ kind: 'initial' }]);
  },
);

test.skipIf(!isAble)(
  `a start on a full disk names file and remedy, and ends with 1; with room the next one makes everything${needs}`,
  async (t) => {
    const sandbox = await startService(t);
    const disk = smallDisk(t, 12 * MB);
    const path = join(disk.folder, 'mirror.db');
    const env = environmentFor(sandbox, path);
    disk.fill();
    const refused = spawnMirror(t, env, disk.folder);
    expect(await refused.ended).toEqual({ code: 1, signal: null });
    expect(refused.stderr).toBe(
      `error: ${eventLogPath(path)} has no room on its disk (SQLITE_FULL): free disk space there.\n`,
    );

    disk.free();
    const mirror = await startMirror(t, sandbox, { folder: disk.folder });
    await untilLive(mirror);
    await untilEqual(mirror, sandbox);
    await mirror.stop();

    disk.fill();
    const again = spawnMirror(t, env, disk.folder);
    expect(await again.ended).toEqual({ code: 1, signal: null });
    expect(again.stderr).toMatch(
      /^error: \S+mirror(\.log)?\.db has no room on its disk \(SQLITE_\w+\): free disk space there\.\n$/,
    );
  },
);
