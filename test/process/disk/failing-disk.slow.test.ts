/** A disk whose fsync fails (docs/architecture.md#when-nothing-can-be-committed). */
import { expect, test } from 'vitest';
import {
  eventually,
  inboxRows,
  notKept,
  rows,
  startBoth,
  temporaryFolder,
  untilAtRest,
  untilLogged,
  type Json,
} from '../harness.ts';
import { startLoad, unanswered, withStatus } from '../load.ts';
import { canBeOdd, needsForOdd, oddDisk } from './odd-disk.ts';

test.skipIf(!canBeOdd)(
  `answers 503 while fsync fails and repairs itself afterwards${needsForOdd}`,
  async (t) => {
    const folder = temporaryFolder(t);
    const disk = oddDisk(folder, 'fails');
    const { sandbox, mirror } = await startBoth(
      t,
      { products: 20, ackTimeoutMs: 30_000 },
      { folder, env: disk.env },
    );
    const healthUrl = mirror.webhookUrl.replace('/webhooks', '/healthz');
    const load = startLoad(t, sandbox, 100);
    await eventually(() => withStatus(load, 204).length > 50, { what: 'traffic' });

    disk.begin();
    // One delivery may be past its fsync already.
    await eventually(() => withStatus(load, 503).length > 0, { what: 'deliveries are refused' });
    const failingFrom = load.settled.length;
    await eventually(() => withStatus(load, 503, failingFrom).length > 100, { what: 'all are refused' });
    expect(withStatus(load, 204, failingFrom)).toEqual([]);
    expect((await fetch(healthUrl)).status).toBe(503);
    const isFailure = (line: Json): boolean => JSON.stringify(line).includes('SQLITE_IOERR_FSYNC');
    const failures = await untilLogged(mirror, isFailure, 'what failed');
    expect(JSON.stringify(failures[0])).toContain('no fault of the disk');

    disk.end();
    const wellFrom = load.settled.length;
    await eventually(() => withStatus(load, 204, wellFrom).length > 50, { what: 'deliveries are accepted' });
    load.stop();
    await untilAtRest(mirror, sandbox);
    expect(unanswered(load)).toEqual([]);
    await mirror.kill();
    expect(rows(mirror.databasePath, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(inboxRows(mirror.databasePath, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(notKept(mirror.databasePath, withStatus(load, 204))).toEqual([]);
  },
);
