/** How far the inbox may be pruned, which the receiver reads from the mirror's file. */
import { openReader } from '../sqlite/open.ts';

/** null if there is no mirror, it follows another inbox, or its file cannot be read now. */
export function prunableSeqOf(databasePath: string, inboxId: string): number | null {
  let db;
  try {
    db = openReader(databasePath);
    const prunableSeq = db
      .prepare<[string], number>(
        'SELECT inbox_prunable_seq FROM service_state WHERE inbox_id = ? AND is_backup = 0',
      )
      .pluck()
      .get(inboxId);
    return prunableSeq ?? null;
  } catch {
    // No mirror yet, or one that is being replaced or upgraded: nothing is pruned until it can say.
    return null;
  } finally {
    db?.close();
  }
}
