import { rmSync } from 'node:fs';
import { inboxPath } from '../../inbox/inbox.ts';
import { holdFiles } from '../../sqlite/held-files.ts';
import { openReader } from '../../sqlite/open.ts';
import { startMirror } from '../start.ts';
import { Applier } from './applier.ts';
import type { ApplyOptions } from '../mirror.ts';
import type { OwnMirror } from './serve-apply.ts';

/** The inbox must be open already: its thread holds the lock of both files. @throws StoreError */
export function openOwnMirror(path: string, options: ApplyOptions): OwnMirror {
  const inbox = openReader(inboxPath(path));
  try {
    const { db, newEpoch } = startMirror(path, inbox, { nowMs: Date.now(), ...options });
    // Closed last: a read-only connection leaves -wal and -shm, which readers without write access to the folder need.
    const last = openReader(path);
    last.prepare('SELECT 1 FROM mirror_state').get();
    const file = holdFiles([path]);
    const sides = holdFiles([`${path}-wal`, `${path}-shm`]);
    return {
      db,
      applier: new Applier(db, inbox),
      newEpoch,
      check: () => {
        try {
          file.check();
        } catch (error) {
          // SQLite would use them for the file that replaced it.
          for (const side of sides.left()) rmSync(side, { force: true });
          throw error;
        }
        sides.check();
      },
      close: ({ isOrderly }) => {
        try {
          if (!isOrderly) return;
          db.exec('UPDATE service_state SET stopped_at_ms = alive_at_ms');
          db.pragma('wal_checkpoint(TRUNCATE)');
        } finally {
          db.close();
          last.close();
          inbox.close();
        }
      },
    };
  } catch (error) {
    inbox.close();
    throw error;
  }
}
