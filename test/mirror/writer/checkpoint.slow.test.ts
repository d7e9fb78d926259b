/** The write-ahead logs stay short while writes continue (docs/architecture.md#checkpoints). */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { inboxPath } from '../../../src/inbox/inbox-file.ts';
import { allApplied, delivery, item, startDatabases, T0, type StartedDatabases } from '../mirror-file.ts';

const walBytes = (path: string): number => statSync(`${path}-wal`).size;

/** Changes whenever the log restarts. */
function walSalt(path: string): string {
  const file = openSync(`${path}-wal`, 'r');
  const salt = Buffer.alloc(8);
  const bytes = readSync(file, salt, 0, 8, 16);
  closeSync(file);
  return salt.toString('hex', 0, bytes);
}

let n = 0;

async function append(databases: StartedDatabases, bytes: number): Promise<void> {
  n += 1;
  databases.inbox.append(delivery(`r${n}`, item({ id: String(n), sku: 'x'.repeat(bytes) })), T0);
  await allApplied(databases);
}

test('restarts the logs of inbox and mirror under a steady stream of deliveries', async () => {
  const databases = await startDatabases();
  const paths = [databases.path, inboxPath(databases.path)];
  await append(databases, 1);
  await allApplied(databases);
  const first = paths.map(walSalt);
  const isOld = (): boolean => paths.some((path, i) => walSalt(path) === first[i]);
  const write = async (): Promise<void> => {
    while (isOld()) await append(databases, 60_000);
  };
  await Promise.all(Array.from({ length: 8 }, write));
  for (const salt of first) expect(salt).toHaveLength(16);
  for (const path of paths) expect(walBytes(path)).toBeLessThan(256 << 20);
});
