/** A copy of ten thousand products: within seconds equal row by row, and again after kills of either side under load. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { differingFiles } from '../../replication/http/machines.ts';
import { freePort, isUpToDate, positionIn, startCommand } from '../copies.ts';
import {
  eventually,
  startMirror,
  startService,
  temporaryFolder,
  untilEqual,
  untilLive,
  untilQuiet,
} from '../harness.ts';

/** On a machine that does nothing else, a third of it. */
const UP_TO_DATE_WITHIN_MS = 15_000;

test('a copy of ten thousand products, killed on either side under load', async (owner) => {
  const sandbox = await startService(owner, { products: 10_000 });
  const folder = temporaryFolder(owner);
  const [here, there] = [join(folder, 'primary'), join(folder, 'copy')];
  for (const each of [here, there]) mkdirSync(each);
  const [opsPort, copyOpsPort] = [await freePort(), await freePort()];
  const startPrimary = () =>
    startMirror(owner, sandbox, { folder: here, env: { OPS_PORT: String(opsPort), LOG_LEVEL: 'info' } });
  let primary = await startPrimary();
  const { databasePath: primaryPath } = primary;
  const copyPath = join(there, 'mirror.db');
  const untilCopied = (withinMs: number): Promise<unknown> =>
    eventually(() => isUpToDate(primaryPath, copyPath), { what: 'a copy that is up to date', withinMs });
  await untilLive(primary, 120_000);
  await untilQuiet(primary, sandbox, 60_000);

  const startCopy = () =>
    startCommand(owner, {
      args: ['follow', `http://127.0.0.1:${opsPort}`, '--database', copyPath],
      env: { OPS_PORT: String(copyOpsPort) },
      cwd: there,
    });
  let copy = startCopy();
  await untilCopied(UP_TO_DATE_WITHIN_MS);
  expect(differingFiles(primaryPath, copyPath)).toEqual([]);

  sandbox.network.concurrency = 16;
  sandbox.traffic.start(100);
  for (let kills = 0; kills < 4; kills += 1) {
    const before = positionIn(copyPath).logged;
    await eventually(() => positionIn(copyPath).logged > before + 100, { what: 'traffic in the copy' });
    if (kills !== 1) {
      await copy.end('SIGKILL');
      copy = startCopy();
    }
    if (kills !== 0) {
      await primary.kill();
      primary = await startPrimary();
    }
  }
  sandbox.traffic.stop();
  await untilLive(primary, 240_000);
  await untilQuiet(primary, sandbox, 120_000);
  await untilCopied(UP_TO_DATE_WITHIN_MS);
  expect(await copy.end('SIGTERM')).toBe(0);
  await primary.stop();
  expect(differingFiles(primaryPath, copyPath)).toEqual([]);
  await untilEqual({ databasePath: copyPath }, sandbox, 5_000);
}, 600_000);
