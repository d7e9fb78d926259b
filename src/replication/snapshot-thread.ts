/** A thread that makes and checks snapshots: every page is read, and the main thread must not wait. */
import { rmSync } from 'node:fs';
import { eventLogPath } from '../event-log/open-log.ts';
import { backupDatabase } from '../mirror/file/backup.ts';
import { ownerOfThread } from '../platform/thread.ts';
import { messageOf } from '../platform/thrown.ts';
import { whyUnusable } from './check-snapshot.ts';
import type { FromSnapshot, ToSnapshot } from './make-snapshot.ts';

const { owner, path } = ownerOfThread<ToSnapshot, FromSnapshot>();
const interrupted = new AbortController();

function end(message: FromSnapshot): void {
  owner.post(message);
  owner.close();
}

owner.onMessage((message) => {
  switch (message.type) {
    case 'interrupt':
      interrupted.abort();
      return;
    case 'check':
      try {
        end({ type: 'checked', unusable: whyUnusable(message.files, message.origin) });
      } catch (error) {
        end({ type: 'failed', problem: messageOf(error) });
      }
      return;
    case 'make': {
      const { to } = message;
      backupDatabase(path, to, {
        force: true,
        onProgress: () => undefined,
        interrupted: interrupted.signal,
      }).then(
        (made) => end({ type: 'made', isWhole: made !== null }),
        (error: unknown) => {
          for (const file of [to, eventLogPath(to)]) rmSync(file, { force: true });
          end({ type: 'failed', problem: messageOf(error) });
        },
      );
    }
  }
});
