/**
 * A disk that takes writes and cannot make them durable: no delivery of such a commit is answered 204
 * (docs/architecture.md#when-nothing-can-be-committed).
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import {
  eventually,
  rows,
  startMirror,
  startService,
  temporaryFolder,
  untilEqual,
  untilLive,
  untilLogged,
  untilQuiet,
  type Json,
} from './harness.ts';
import { startLoad, unanswered, withStatus } from './load.ts';

const SOURCE = fileURLToPath(new URL('fixtures/failing-fsync.c', import.meta.url));
const isAble = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;
const needs = isAble ? '' : ' (skipped: needs Linux and a C compiler)';

test.skipIf(!isAble)(
  `while fsync fails deliveries are 503 within the second, and afterwards the mirror repairs itself${needs}`,
  async (t) => {
    const folder = temporaryFolder(t);
    const preload = join(folder, 'failing-fsync.so');
    const flag = join(folder, 'fails');
    execFileSync('cc', ['-shared', '-fPIC', '-o', preload, SOURCE]);
    const sandbox = await startService(t, { products: 20 });
    const env = { LD_PRELOAD: preload, FSYNC_FAILS_WHILE: flag };
    const mirror = await startMirror(t, sandbox, { folder, env });
    await untilLive(mirror);
    await untilQuiet(mirror, sandbox);
    const healthUrl = mirror.webhookUrl.replace('/webhooks', '/healthz');
    const load = startLoad(t, sandbox, 100);
    await eventually(() => withStatus(load, 204).length > 50, { what: 'traffic' });

    writeFileSync(flag, '');
    // One that was past its fsync by then may still be answered.
    await eventually(() => withStatus(load, 503).length > 0, { what: 'deliveries are refused' });
    const failingFrom = load.settled.length;
    await eventually(() => withStatus(load, 503, failingFrom).length > 100, { what: 'all are refused' });
    expect(withStatus(load, 204, failingFrom)).toEqual([]);
    expect((await fetch(healthUrl)).status).toBe(503);
    const isFailure = (line: Json): boolean => JSON.stringify(line).includes('SQLITE_IOERR_FSYNC');
    const told = await untilLogged(mirror, isFailure, 'what failed');
    expect(JSON.stringify(told[0])).toContain('no fault of the disk');

    rmSync(flag);
    const wellFrom = load.settled.length;
    await eventually(() => withStatus(load, 204, wellFrom).length > 50, { what: 'deliveries are accepted' });
    load.stop();
    await untilQuiet(mirror, sandbox);
    await untilEqual(mirror, sandbox);
    expect(unanswered(load)).toEqual([]);
    await mirror.kill();
    expect(rows(mirror.databasePath, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    const kept = new Set(
      rows<{ payload: Buffer }>(mirror.databasePath, `SELECT payload FROM log WHERE kind = 'delivery'`).map(
        ({ payload }) => payload.toString(),
      ),
    );
    expect(withStatus(load, 204).filter(({ delivery }) => !kept.has(delivery.body.toString()))).toEqual([]);
  },
);
