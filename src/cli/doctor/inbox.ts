/** The inbox: present, private, undamaged, fitting the mirror, and applied to it. */
import { existsSync, statSync } from 'node:fs';
import { inboxPath, openInboxReader } from '../../inbox/inbox.ts';
import { attachInbox } from '../../mirror/reader/serve-queries.ts';
import { lag } from '../../mirror/queries/inbox.ts';
import { inboxPosition, judge, mirrorPosition } from '../../mirror/start.ts';
import { messageOf } from '../../platform/thrown.ts';
import { explain, remedyFor } from '../../sqlite/explain.ts';
import type { Db } from '../../sqlite/open.ts';
import { ago } from '../shared/ago.ts';
import { fail, megabytes, ok, warn, type Check } from './check.ts';

const NEXT_START = 'nothing to do: the next start begins a new epoch and reads everything';
/** A running mirror is behind by milliseconds, unless something is in its way. */
const BEHIND_MS = 10_000;

/** @param db of the mirror, with the current schema. */
export function checkInbox(db: Db, path: string, { isWhole }: { readonly isWhole: boolean }): Check[] {
  const file = inboxPath(path);
  if (!existsSync(file)) return [warn('inbox', `${file} does not exist`, NEXT_START)];
  return [
    looked('inbox', () => checkFile(file, { isWhole })),
    looked('applied', () => checkBacklog(db, path)),
    looked('epoch', () => checkEpoch(db, file)),
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

function checkFile(file: string, { isWhole }: { readonly isWhole: boolean }): Check {
  const { size, mode } = statSync(file);
  const pragma = isWhole ? 'integrity_check' : 'quick_check';
  const db = openInboxReader(file);
  try {
    const found = explain(file, () => db.pragma(`${pragma}(1)`, { simple: true }));
    if (found !== 'ok') {
      return fail(
        'inbox',
        `${file}: ${pragma}: ${String(found)}`,
        'stop the mirror and move the file away: the next start reads everything from the store',
      );
    }
    const { firstSeq, lastSeq } = inboxPosition(db);
    const message = `${file}, ${megabytes(size)}, rows ${firstSeq} to ${lastSeq}, ${pragma} found no fault`;
    if ((mode & 0o077) === 0) return ok('inbox', message);
    return warn('inbox', `${message}; other users may read it`, `chmod 600 ${file}`);
  } finally {
    db.close();
  }
}

function checkBacklog(db: Db, path: string): Check {
  attachInbox(db, path);
  const { deliveries, sinceMs } = lag(db);
  if (deliveries === 0) return ok('applied', 'every delivery in the inbox is applied');
  const message = `${deliveries} deliveries in the inbox are not applied, the first ${ago(sinceMs)}`;
  if (sinceMs !== null && Date.now() - sinceMs < BEHIND_MS) return ok('applied', message);
  return warn('applied', message, 'start the mirror; if it runs, its log says what keeps it from writing');
}

/** The inbox after the mirror: a running mirror writes between the two looks. */
function checkEpoch(db: Db, file: string): Check {
  const mirror = mirrorPosition(db);
  const inbox = openInboxReader(file);
  try {
    const verdict = judge(mirror, inboxPosition(inbox));
    const message = `epoch ${mirror.epoch}, change feed at ${mirror.changeSeq}`;
    return !('why' in verdict)
      ? ok('epoch', message)
      : warn('epoch', `${message}: ${verdict.why}`, NEXT_START);
  } finally {
    inbox.close();
  }
}
