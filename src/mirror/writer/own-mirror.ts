/** The mirror as the apply thread holds it: started, watched, closed. */
import { rmSync, statSync } from 'node:fs';
import { inboxPath } from '../../inbox/inbox.ts';
import { holdFiles } from '../../sqlite/held-files.ts';
import { openReader, type Db } from '../../sqlite/open.ts';
import { startMirror } from '../start.ts';
import { Applier } from './applier.ts';
import type { ApplyOptions } from '../mirror.ts';
import type { OwnMirror } from './serve-apply.ts';

/** A write-ahead log this long that a reader holds deserves attention, and again every so often. */
const LONG_WAL_BYTES = 256 << 20;
const NEWS_EVERY_MS = 60_000;

/** The inbox must be open already: its thread holds the lock of both. @throws StoreError */
export function openOwnMirror(path: string, options: ApplyOptions): OwnMirror {
  const inbox = openReader(inboxPath(path));
  try {
    const { db, newEpoch } = startMirror(path, inbox, { nowMs: Date.now(), ...options });
    // Closed last: a read-only connection leaves -wal and -shm, which readers that cannot write to the folder need.
    const last = openReader(path);
    last.prepare('SELECT 1 FROM mirror_state').get();
    const file = holdFiles([path]);
    const sides = holdFiles([`${path}-wal`, `${path}-shm`]);
    let newsAtMs = Number.NEGATIVE_INFINITY;
    return {
      db,
      applier: new Applier(db, inbox),
      newEpoch,
      check: () => {
        try {
          file.check();
        } catch (error) {
          // They would be taken for those of the file that is there now.
          for (const side of sides.left()) rmSync(side, { force: true });
          throw error;
        }
        sides.check();
        const found = performance.now() - newsAtMs < NEWS_EVERY_MS ? null : heldBack(db);
        if (found !== null) newsAtMs = performance.now();
        return found;
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

/** A reader's transaction keeps the write-ahead log from being moved into the file. */
function heldBack(db: Db): { readonly walBytes: number; readonly pages: number } | null {
  const walBytes = statSync(`${db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes < LONG_WAL_BYTES) return null;
  const [row] = db.pragma('wal_checkpoint(PASSIVE)') as {
    readonly log: number;
    readonly checkpointed: number;
  }[];
  const pages = row === undefined ? 0 : row.log - row.checkpointed;
  return pages > 0 ? { walBytes, pages } : null;
}
