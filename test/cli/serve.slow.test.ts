import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { plainVariants, untilEqual } from '../process/harness.ts';
import {
  databaseOf,
  homeOf,
  run,
  startServer,
  startService,
  untilPrinted,
  watch,
  withEnv,
} from './harness.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

test('exits 1 on a database or port in use, like main.ts, which leaves the first unharmed, and 0 on SIGTERM', async () => {
  const sandbox = await startService();
  const home = await homeOf(sandbox);
  const server = await startServer(home, sandbox);

  const second = await run(home, 'serve');
  const main = await watch(spawn(process.execPath, [MAIN], { cwd: home.folder, env: home.env })).ended;
  expect(second.code).toBe(1);
  expect(second.stderr).toMatch(/^error: another stock-mirror/);
  expect(second.stderr).toContain(inboxPath('mirror.db'));
  expect(second.stderr).not.toContain('    at ');
  expect({ code: main.code, stderr: main.stderr }).toEqual({ code: 1, stderr: second.stderr });

  const elsewhere = await run(withEnv(home, { DATABASE_PATH: './other.db' }), 'serve');
  expect(elsewhere.code).toBe(1);
  expect(elsewhere.stderr).toMatch(/^error: cannot listen on 127\.0\.0\.1:\d+: .* set another OPS_PORT\b/);

  sandbox.operations.add({ ...plainVariants(sandbox, 1)[0], by: 3 });
  await sandbox.network.idle();
  expect(sandbox.deliveries.records.at(-1)).toMatchObject({ status: 204 });
  await untilEqual({ databasePath: databaseOf(home) }, sandbox);

  server.signal('SIGTERM');
  expect((await server.ended).code).toBe(0);
});

test.each<[signal: NodeJS.Signals, shell: string]>([
  ['SIGTERM', '/bin/sh'],
  ['SIGTERM', '/bin/bash'],
])('ends in order when npm start receives %s through %s', async (signal, shell) => {
  const sandbox = await startService({ products: 1 });
  const { folder, env } = await homeOf(sandbox);
  const home = { ...env, DATABASE_PATH: join(folder, 'mirror.db') };
  const npm = watch(
    spawn('npm', ['start', '--silent', '--script-shell', shell], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], ...home },
    }),
  );
  await untilPrinted(npm, /"listening"/);
  npm.signal(signal);
  const { stdout } = await npm.ended;
  expect(stdout).toMatch(/"cause":"stopped","msg":"stopped"\}\n$/);
});
