import { expect, test } from 'vitest';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { newPath, startDatabases } from '../mirror/mirror-file.ts';

test('refuses a second mirror on the same file until the first is closed', async () => {
  const path = newPath();
  const first = await startDatabases(path);
  await expect(startDatabases(path)).rejects.toMatchObject({
    kind: 'in_use',
    message: expect.stringContaining(`${inboxPath(path)}: stop it first`),
  });
  await first.close();
  await startDatabases(path);
});
