import { expect, onTestFinished, test } from 'vitest';
import { checkProcess } from '../../../src/cli/doctor/mirror.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { inboxPath } from '../../../src/inbox/inbox-file.ts';
import { lockDatabase } from '../../../src/sqlite/lock.ts';
import { newPath } from '../../mirror/mirror-file.ts';
import { freePort } from '../../shared/free-port.ts';

test.each([
  ['receiver', inboxPath],
  ['mirror', (path: string) => path],
])('names a %s that runs at another address', async (role, fileOf) => {
  const path = newPath();
  const lock = lockDatabase(fileOf(path));
  onTestFinished(() => lock.release());
  const env = {
    SERVICE_BASE_URL: 'http://127.0.0.1:9',
    SERVICE_CLIENT_ID: 'c',
    SERVICE_CLIENT_SECRET: 's',
    SERVICE_WEBHOOK_SECRET: 'w',
    DATABASE_PATH: path,
    OPS_PORT: String(await freePort()),
    ROLE: role,
  };
  const findings = await checkProcess(loadConfig({ env, cwd: '/nowhere' }));
  expect(findings).toMatchObject([{ message: expect.stringContaining(`a ${role} runs, but not at`) }]);
});
