import { expect, onTestFinished, test } from 'vitest';
import { checkProcess, checkWebhookListener } from '../../../src/cli/doctor/mirror.ts';
import { loadConfig, type Config } from '../../../src/config/config.ts';
import { inboxPath } from '../../../src/inbox/inbox-file.ts';
import { lockDatabase } from '../../../src/sqlite/lock.ts';
import { newPath } from '../../mirror/mirror-file.ts';
import { freePort } from '../../shared/free-port.ts';
import { REQUIRED_SETTINGS } from '../../shared/required-settings.ts';

test.each([
  ['receiver', inboxPath],
  ['mirror', (path: string) => path],
])('names a %s that runs at another address', async (role, fileOf) => {
  const { path, config } = await settings(role);
  lock(fileOf(path));
  expect(await checkProcess(config)).toMatchObject([
    { message: expect.stringContaining(`a ${role} runs, but not at`) },
  ]);
});

test.each([
  ['receiver', 'receiver'],
  ['both', 'mirror'],
])('names the process of ROLE=%s whose public listener does not answer', async (role, name) => {
  const { path, config } = await settings(role);
  lock(inboxPath(path));
  expect(await checkWebhookListener(config)).toMatchObject([
    {
      message: expect.stringMatching(new RegExp(`^a ${name} runs, but http\\S+ does not answer`)),
      remedy: expect.stringContaining(`restart the ${name}`),
    },
  ]);
});

async function settings(role: string): Promise<{ readonly path: string; readonly config: Config }> {
  const path = newPath();
  const env = {
    ...REQUIRED_SETTINGS,
    DATABASE_PATH: path,
    PORT: String(await freePort()),
    OPS_PORT: String(await freePort()),
    ROLE: role,
  };
  return { path, config: loadConfig({ env, cwd: '/nowhere' }) };
}

function lock(file: string): void {
  const held = lockDatabase(file);
  onTestFinished(() => held.release());
}
