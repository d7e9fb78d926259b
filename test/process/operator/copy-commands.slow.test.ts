/** What the commands say of a copy, served and stopped, where nothing of the store is set; and what a backup of it becomes. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import { differingFiles } from '../../replication/http/machines.ts';
import { freePort, isUpToDate, positionIn, startCommand } from '../copies.ts';
import {
  environmentFor,
  eventually,
  rows,
  startMirror,
  startService,
  temporaryFolder,
  untilLive,
  untilQuiet,
  type Environment,
} from '../harness.ts';

const TOKEN = '0123456789abcdef-long';

test('commands on a copy ask for nothing that a copy does not need; its backup goes on, or is promoted', async (owner) => {
  const sandbox = await startService(owner);
  const folder = temporaryFolder(owner);
  const there = join(folder, 'copy');
  mkdirSync(there);
  const [opsPort, copyOpsPort] = [await freePort(), await freePort()];
  const primary = await startMirror(owner, sandbox, { env: { OPS_PORT: String(opsPort), OPS_TOKEN: TOKEN } });
  await untilLive(primary);
  await untilQuiet(primary, sandbox);
  const origin = `http://127.0.0.1:${opsPort}`;
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, `${TOKEN}\n`);
  const copyPath = join(there, 'mirror.db');
  const env: Environment = { DATABASE_PATH: copyPath, OPS_PORT: String(copyOpsPort) };
  const follow = (database: string) =>
    startCommand(owner, {
      args: ['follow', origin, '--token-file', tokenFile, '--database', database],
      env,
      cwd: there,
    });
  const run = async (command: string, more: Environment = {}): Promise<readonly [number | null, string]> => {
    const started = startCommand(owner, { args: command.split(' '), env: { ...env, ...more }, cwd: there });
    const code = await started.ended;
    return [code, started.text];
  };
  const untilUpToDate = (path: string): Promise<unknown> =>
    eventually(() => isUpToDate(primary.databasePath, path), { what: 'a copy that is up to date' });
  const store = environmentFor(sandbox, copyPath);
  const refuse = async (...commands: readonly string[]): Promise<void> => {
    const ended = await Promise.all(commands.map((command) => run(command)));
    expect(ended.map(([code]) => code)).toEqual(commands.map(() => 1));
    for (const [, text] of ended) {
      expect(text).toContain(`is a copy of ${origin}`);
      expect(text).not.toContain('SERVICE_');
    }
  };
  const answer = async (...commands: readonly string[]): Promise<void> => {
    const ended = await Promise.all(commands.map((command) => run(command)));
    expect(ended.map(([code], i) => [commands[i], code])).toEqual(commands.map((command) => [command, 0]));
  };

  const copy = follow(copyPath);
  await untilUpToDate(copyPath);
  await untilLive({ databasePath: copyPath });
  await refuse('verify --sample 2', 'resync', 'resync --product 1');
  await answer('verify --local', 'export --format csv', 'status');
  expect((await run('verify', { ...store, ...env }))[1]).toContain('equal');
  const [, untrusted] = await run('doctor');
  expect(untrusted).toContain(`is a copy of ${origin}; LOG_URL is not set`);
  expect(untrusted).toContain('asks for a token: set LOG_TOKEN to the OPS_TOKEN of the primary');
  const [code, well] = await run('doctor', { LOG_TOKEN: TOKEN });
  expect([code, well]).toEqual([0, expect.stringContaining(`a copy of ${origin}`)]);
  expect(well).not.toContain('new epoch');
  const backup = join(folder, 'backup.db');
  expect((await run(`backup ${backup}`))[0]).toBe(0);
  expect(await copy.end('SIGTERM')).toBe(0);
  await refuse('verify --sample 2', 'resync');
  await answer('verify --local');
  const [stopped, told] = await run('status');
  expect([stopped, told]).toEqual([1, expect.stringContaining('The mirror is not running')]);
  expect(told).toContain(`start the copy: \`stock-mirror follow ${origin}\``);
  expect(told).not.toContain('stock-mirror serve');

  // Meanwhile the primary goes on.
  const { logged } = positionIn(primary.databasePath);
  sandbox.traffic.start(50);
  await eventually(() => positionIn(primary.databasePath).logged > logged + 50, { what: 'traffic' });
  sandbox.traffic.stop();
  await untilQuiet(primary, sandbox);
  const restored = join(there, 'restored.db');
  renameSync(backup, restored);
  renameSync(eventLogPath(backup), eventLogPath(restored));
  const again = follow(restored);
  await untilUpToDate(restored);
  expect(again.text).not.toContain('snapshot');
  expect(differingFiles(primary.databasePath, restored)).toEqual([]);
  await again.end('SIGTERM');

  const alone = { ...store, DATABASE_PATH: restored };
  const [refused, why] = await run('serve', alone);
  expect(refused).toBe(1);
  expect(why).toContain(`is a copy of ${origin}`);
  expect(why).toContain('stock-mirror promote');
  const epochIn = (path: string) =>
    rows<{ epoch: string }>(path, 'SELECT epoch FROM mirror_status')[0]?.epoch;
  const before = epochIn(restored);
  expect((await run('promote', { DATABASE_PATH: restored }))[0]).toBe(0);
  const promoted = startCommand(owner, { args: ['serve'], env: alone, cwd: there });
  await eventually(() => epochIn(restored) !== before, { what: `a new epoch, and not ${promoted.text}` });
  expect(epochIn(primary.databasePath)).toBe(before);
}, 180_000);
