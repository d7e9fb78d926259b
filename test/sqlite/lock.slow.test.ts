import { expect, test } from 'vitest';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { newPath, storeAt } from '../mirror/mirror-file.ts';

test('refuses a second store on the same file until the first is closed', async () => {
  const path = newPath();
  const first = await storeAt(path);
  await expect(storeAt(path)).rejects.toMatchObject({
    kind: 'in_use',
    message: expect.stringContaining(`${inboxPath(path)}: stop it first`),
  });
  await first.close();
  await storeAt(path);
});
