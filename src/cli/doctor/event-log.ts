/** The event log: present, private, undamaged, in the mirror's epoch, and applied to the mirror. */
import { existsSync, statSync } from 'node:fs';
import { eventLogPath, openLogForReading } from '../../event-log/open-log.ts';
import { attachEventLog } from '../../event-log/open-both.ts';
import { logPosition, mirrorPosition } from '../../mirror/file/position.ts';
import { lag } from '../../mirror/queries/lag.ts';
import { whyNewEpoch } from '../../mirror/start-rule.ts';
import { messageOf } from '../../platform/thrown.ts';
import { explain, remedyFor } from '../../sqlite/explain.ts';
import { type Db } from '../../sqlite/open.ts';
import { ago } from '../shared/ago.ts';
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
    looked('history', () => checkHistory(db)),
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
    const { firstSeq, lastSeq } = logPosition(db);
    const message = `${logPath}, ${megabytes(size)}, entries ${firstSeq} to ${lastSeq}, ${pragma} found no fault`;
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

/** In one transaction: a running mirror writes both files. */
function checkHistory(db: Db): Check {
  const [position, log] = db.transaction(() => [mirrorPosition(db), logPosition(db, 'event_log')] as const)();
  const message = `epoch ${position.epoch}, change feed at ${position.changeSeq}`;
  const why = whyNewEpoch(log, position);
  return why === null ? ok('history', message) : warn('history', `${message}: ${why}`, NEXT_START);
}
