/** The thread that copies the mirror and its event log: reading every page back takes a while, and answers must not wait. */
import { existsSync, rmSync } from 'node:fs';
import { eventLogPath } from '../event-log/open-log.ts';
import { backupDatabase } from '../mirror/file/backup.ts';
import { ownerOfThread } from '../platform/thread.ts';
import type { FromSnapshot, ToSnapshot } from './make-snapshot.ts';

const { owner, path } = ownerOfThread<ToSnapshot, FromSnapshot>();
const interrupted = new AbortController();

owner.onMessage((message) => {
  if (message.type === 'interrupt') {
    interrupted.abort();
    return;
  }
  backupDatabase(path, message.to, {
    force: true,
    onProgress: () => undefined,
    interrupted: interrupted.signal,
  }).then(
    (made) => {
      owner.post({ type: 'made', isWhole: made !== null });
      owner.close();
    },
    (error: unknown) => {
      for (const file of [message.to, eventLogPath(message.to)]) if (existsSync(file)) rmSync(file);
      owner.post({ type: 'failed', problem: error instanceof Error ? error.message : String(error) });
      owner.close();
    },
  );
});
