/** Files that may only be read: the event log ends the start, the mirror is tried again. */
import { chmodSync, chownSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import {
  environmentFor,
  eventually,
  spawnMirror,
  startMirror,
  startService,
  temporaryFolder,
  type Owner,
} from '../harness.ts';

/** A superuser may write everything: the service is run as somebody else, as it should be anyway. */
const NOBODY = 65_534;
const isAble = process.getuid?.() === 0;
const needs = isAble ? '' : ' (skipped: the service cannot be run as another user here)';
const MAY_WRITE = 'make the file and its folder writable for the user who runs stock-mirror';

/** A folder with a mirror that has been served and stopped. */
async function servedFolder(
  t: Owner,
): Promise<{ folder: string; path: string; env: Record<string, string> }> {
  const sandbox = await startService(t);
  const folder = join(temporaryFolder(t), 'data');
  mkdirSync(folder);
  chmodSync(join(folder, '..'), 0o755);
  const mirror = await startMirror(t, sandbox, { folder });
  await mirror.stop();
  return { folder, path: mirror.databasePath, env: environmentFor(sandbox, mirror.databasePath) };
}

test
  .skipIf(!isAble)
  .concurrent(
    `a read-only event log ends the start with 1, a read-only mirror does not, and both say who may do what${needs}`,
    async (t) => {
      const { folder, path, env } = await servedFolder(t);
      chownSync(folder, NOBODY, NOBODY);
      const logPath = eventLogPath(path);
      for (const each of [`${path}.token`, `${logPath}.lock`, logPath]) {
        if (existsSync(each)) chownSync(each, NOBODY, NOBODY);
      }
      chmodSync(path, 0o444);
      const waiting = spawnMirror(t, env, folder, { uid: NOBODY, gid: NOBODY });
      const said = (text: RegExp): boolean => waiting.log.some((line) => text.test(JSON.stringify(line)));
      await eventually(() => said(/mirror\.db \(EACCES.*cannot be written/), { what: 'it says so' });
      expect(said(new RegExp(MAY_WRITE))).toBe(true);
      await eventually(() => said(/"msg":"listening"/), { what: 'it listens' });
      waiting.signal('SIGTERM');
      await waiting.ended;

      chmodSync(path, 0o644);
      chownSync(path, NOBODY, NOBODY);
      chownSync(logPath, 0, 0);
      const without = spawnMirror(t, env, folder, { uid: NOBODY, gid: NOBODY });
      expect(await without.ended).toEqual({ code: 1, signal: null });
      expect(without.stderr).toMatch(/^error: cannot open \S+mirror\.log\.db \([^\n]+\n$/);
      expect(without.stderr).toContain(MAY_WRITE);

      chownSync(logPath, NOBODY, NOBODY);
      const served = spawnMirror(t, env, folder, { uid: NOBODY, gid: NOBODY });
      await eventually(() => served.log.some((line) => line['msg'] === 'listening'), { what: 'it listens' });
    },
  );

test.skipIf(!isAble).concurrent(`a read-only folder likewise${needs}`, async (t) => {
  const { folder, path, env } = await servedFolder(t);
  chownSync(path, NOBODY, NOBODY);
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  rmSync(`${eventLogPath(path)}.lock`, { force: true });
  const refused = spawnMirror(t, env, folder, { uid: NOBODY, gid: NOBODY });
  expect(await refused.ended).toEqual({ code: 1, signal: null });
  expect(refused.stderr).toMatch(/^error: cannot open \S+mirror\.log\.db\.lock \([^\n]+\n$/);
  expect(refused.stderr).toContain(MAY_WRITE);
});
