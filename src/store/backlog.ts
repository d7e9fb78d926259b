/** What the event log has and the mirror does not hold yet, found in their files. */
import { isThere } from './is-there.ts';
import { eventLogPath, openLogForReading } from './event-log/open-log.ts';
import { positionIn } from './mirror-position.ts';
import type { Db } from './open.ts';

export interface Backlog {
  readonly entries: number;
  /** Of the first of them; null: there is none. */
  readonly sinceMs: number | null;
}

/** @param db of the mirror. @returns null when there is no event log. @throws StoreError */
export function backlogOf(path: string, db: Db): Backlog | null {
  const logPath = eventLogPath(path);
  if (!isThere(logPath)) return null;
  const { appliedSeq } = positionIn(db);
  const log = openLogForReading(logPath);
  try {
    const found = log
      .prepare<[{ readonly appliedSeq: number }], Backlog>(
        `SELECT count(*) AS entries,
           (SELECT at_ms FROM log WHERE seq > @appliedSeq ORDER BY seq LIMIT 1) AS sinceMs
         FROM log WHERE seq > @appliedSeq`,
      )
      .get({ appliedSeq });
    return found ?? { entries: 0, sinceMs: null };
  } finally {
    log.close();
  }
}
