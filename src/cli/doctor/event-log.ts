/** The event log: present, private, undamaged, continuing the history that was served, and applied to the mirror. */
import { existsSync, statSync } from 'node:fs';
import { whyRestarted, type LogPosition } from '../../event-log/epoch.ts';
import { EventLog } from '../../event-log/event-log.ts';
import { eventLogPath, openLogForReading } from '../../event-log/open-log.ts';
import { explain, remedyFor } from '../../sqlite/explain.ts';
import { findFile } from '../../sqlite/file-identity.ts';
import { positionIn } from '../../event-log/mirror-position.ts';
import { attachEventLog } from '../../event-log/open-both.ts';
import { type Db } from '../../sqlite/open.ts';
import { lag } from '../../mirror/queries/lag.ts';
import { readHighWaterMark } from '../../event-log/high-water-mark.ts';
import { ago } from '../shared/ago.ts';
import { messageOf } from '../../platform/thrown.ts';
import { fail, megabytes, ok, warn, type Check } from './check.ts';

const NEXT_START = 'nothing to do: the next start begins a new epoch and reads everything';
/** A running mirror is behind by milliseconds, unless something is in its way. */
const BEHIND_MS = 10_000;

/** @param db of the mirror, with the current schema. */
export function checkEventLog(db: Db, path: string, { isWhole }: { readonly isWhole: boolean }): Check[] {
  const logPath = eventLogPath(path);
  if (!existsSync(logPath)) return [warn('event log', `${logPath} does not exist`, NEXT_START)];
  return [
    looked('event log', () => checkFile(logPath, { isWhole })),
    looked('applied', () => checkBacklog(db, path)),
    looked('history', () => checkHistory(db, path, logPath)),
  ];
}

/** In a damaged file any check may fail; the others are still made. */
function looked(name: string, look: () => Check): Check {
  try {
    return look();
  } catch (error) {
    return fail(name, messageOf(error), remedyFor(error) ?? 'see the other checks of the database');
  }
}

function checkFile(logPath: string, { isWhole }: { readonly isWhole: boolean }): Check {
  const { size, mode } = statSync(logPath);
  const pragma = isWhole ? 'integrity_check' : 'quick_check';
  const db = openLogForReading(logPath);
  try {
    const found = explain(logPath, () => db.pragma(`${pragma}(1)`, { simple: true }));
    if (found !== 'ok') {
      return fail(
        'event log',
        `${logPath}: ${pragma}: ${String(found)}`,
        'stop the mirror and move the file away: the next start reads everything from the store',
      );
    }
    const log = new EventLog(db);
    const message = `${logPath}, ${megabytes(size)}, entries ${log.firstSeq} to ${log.lastSeq}, ${pragma} found no fault`;
    if ((mode & 0o077) === 0) return ok('event log', message);
    return warn('event log', `${message}; other users may read it`, `chmod 600 ${logPath}`);
  } finally {
    db.close();
  }
}

function checkBacklog(db: Db, path: string): Check {
  attachEventLog(db, path);
  const { entries, sinceMs } = lag(db);
  if (entries === 0) return ok('applied', 'the mirror holds all that is in the event log');
  const message = `${entries} entries of the event log are not applied, the first ${ago(sinceMs)}`;
  if (sinceMs !== null && Date.now() - sinceMs < BEHIND_MS) return ok('applied', message);
  return warn(
    'applied',
    message,
    'start the mirror; if it runs, see its log for what keeps it from writing the tables',
  );
}

/**
 * The high-water mark first: read after the position, it could be ahead by what a running mirror has written in
 * between. The event log last, for the same reason.
 */
function checkHistory(db: Db, path: string, logPath: string): Check {
  let mark;
  try {
    mark = readHighWaterMark(path);
  } catch (error) {
    return warn('history', messageOf(error), 'start the mirror: it writes a new one');
  }
  const position = positionIn(db);
  const message = `epoch ${position.epoch}, change feed at ${position.changeSeq}`;
  const log = logPosition(logPath);
  const why = whyRestarted(log, findFile(logPath), mark, position);
  if (why !== null) return warn('history', `${message}: ${why}`, NEXT_START);
  if (mark === null && log.file !== null) {
    return warn(
      'history',
      `${message}, no high-water mark beside the database`,
      'nothing to do: a running mirror writes it',
    );
  }
  return ok('history', message);
}

function logPosition(logPath: string): LogPosition {
  const db = openLogForReading(logPath);
  try {
    const log = new EventLog(db);
    return { ...log.history(), firstSeq: log.firstSeq, lastSeq: log.lastSeq, makesMirror: log.makesMirror() };
  } finally {
    db.close();
  }
}
