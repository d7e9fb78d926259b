/** The mirror's file as its projection opens it: migrated, and beside the event log that it is made of. */
import { eventLogPath, openLogForReading } from '../../event-log/open-log.ts';
import { LogReader, readingLog } from '../../event-log/read-log.ts';
import type { OwnMirror } from './apply-loop.ts';
import { explain } from '../../sqlite/explain.ts';
import { openWriter } from '../file/open-writer.ts';
import type { Db } from '../../sqlite/open.ts';
import { Projection } from './projection.ts';
import { Upkeep } from './upkeep.ts';

/**
 * The event log must be open already: it holds the lock of both.
 *
 * @throws StoreError when the file is not a mirror, too new, damaged, locked, or out of reach.
 */
export function openOwnMirror(path: string): OwnMirror {
  const logDb = openLogForReading(eventLogPath(path));
  let db: Db | undefined;
  try {
    const opened = (db = openWriter(path));
    explain(path, () => nameEpoch(opened, logDb));
    const began = opened.prepare(
      'UPDATE service_state SET stopped_at_ms = NULL WHERE stopped_at_ms IS NOT NULL',
    );
    explain(path, () => began.run());
    const projection = explain(path, () => new Projection(opened, new LogReader(logDb)));
    const upkeep = new Upkeep(opened, path);
    return {
      db: opened,
      projection,
      look: () => upkeep.look(),
      markStopped: () => {
        try {
          opened.exec('UPDATE service_state SET stopped_at_ms = alive_at_ms');
        } catch {
          // Locked by another program, or damaged: readers then learn it from the age of the heartbeat.
        }
      },
      close: () => {
        const news = upkeep.finish();
        opened.close();
        logDb.close();
        upkeep.closed();
        return news;
      },
    };
  } catch (error) {
    db?.close();
    logDb.close();
    throw error;
  }
}

/** A mirror that was just made takes its epoch from the event log, whose entries may name later ones. */
export function nameEpoch(db: Db, logDb: Db): void {
  const epoch = readingLog(logDb, () => logDb.prepare<[], string>('SELECT epoch FROM history').pluck().get());
  const name = db.prepare(
    `UPDATE service_state SET epoch = ? WHERE epoch <> ?
       AND (SELECT applied_seq FROM mirror_state) = 0 AND NOT EXISTS (SELECT 1 FROM products)`,
  );
  name.run(epoch, epoch);
}
