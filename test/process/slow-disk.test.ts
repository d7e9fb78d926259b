/** A disk whose every sync takes longer than an answer may: 503, and yet nothing is lost and nothing read for it. */
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
  untilQuiet,
} from './harness.ts';
import { startLoad, withStatus } from './load.ts';

const SOURCE = fileURLToPath(new URL('fixtures/failing-fsync.c', import.meta.url));
const isAble = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;
const needs = isAble ? '' : ' (skipped: needs Linux and a C compiler)';

test.skipIf(!isAble)(`what is committed after its 503 is stored, and asks for no read${needs}`, async (t) => {
  const folder = temporaryFolder(t);
  const preload = join(folder, 'slow-fsync.so');
  const flag = join(folder, 'slow');
  execFileSync('cc', ['-shared', '-fPIC', '-o', preload, SOURCE]);
  const sandbox = await startService(t, { products: 20 });
  const env = { LD_PRELOAD: preload, FSYNC_IS_SLOW_WHILE: flag, RECONCILE_CRON: 'off', RESYNC_CRON: 'off' };
  const mirror = await startMirror(t, sandbox, { folder, env });
  await untilLive(mirror);
  await untilQuiet(mirror, sandbox);
  const reads = (): number => sandbox.requests['/v1/product/detail'] ?? 0;

  const quietSinceMs = performance.now();
  await eventually(() => performance.now() - quietSinceMs > 9_000, { what: 'the first reads are past' });
  writeFileSync(flag, '');
  const readBefore = reads();
  const load = startLoad(t, sandbox, 5);
  await eventually(() => withStatus(load, 503).length > 40, { what: 'deliveries are refused' });
  load.stop();
  await sandbox.network.idle();
  rmSync(flag);
  await untilQuiet(mirror, sandbox);
  await untilEqual(mirror, sandbox);
  const stored = rows(mirror.databasePath, `SELECT 1 FROM log WHERE kind = 'delivery'`);
  expect(stored).toHaveLength(load.settled.length);
  expect(reads() - readBefore).toBe(0);
});
