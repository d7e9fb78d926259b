/** The database: there, ours, whole, with room to grow, for the right eyes, and with its history going on. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { whyRestarted } from '../../store/epoch.ts';
import { explain, remedyFor } from '../../store/explain.ts';
import { findFile } from '../../store/file-identity.ts';
import { MarkKeeper } from '../../store/mark.ts';
import { readMark } from '../../store/read-mark.ts';
import { isThere } from '../../store/is-there.ts';
import { knownSchemaVersion } from '../../store/migrate.ts';
import type { Db } from '../../store/open.ts';
import { openMirrorOfAnyAge } from '../mirror-file.ts';
import { fail, megabytes, messageOf, ok, warn, type Check } from './check.ts';

const DAMAGED =
  'stop the service, restore a backup or move the file away; the mirror is read again from the service';
const LITTLE_ROOM_BYTES = 100e6;

/** @param isWhole checks every index against its table too, which takes several times as long. */
export function checkDatabase(path: string, { full: isWhole }: { readonly full: boolean }): Check[] {
  let db;
  let places: Check[] = [];
  try {
    const isMade = isThere(path);
    places = [checkRoom(path), ...checkPermissions(path)];
    if (!isMade) {
      return [
        warn('database', `${path} does not exist`, 'start the service: it makes it, and reads everything'),
        ...places,
      ];
    }
    db = openMirrorOfAnyAge(path);
  } catch (error) {
    return [refused(error), ...places];
  }
  try {
    return [
      looked('database', () => checkSchema(db, path)),
      checkIntegrity(db, isWhole),
      ...places,
      looked('history', () => checkHistory(db, path)),
    ];
  } finally {
    db.close();
  }
}

/** What the store refuses ends with the remedy. */
function refused(error: unknown): Check {
  const [, what, remedy] = /^(.*): (.*?)\.?$/s.exec(messageOf(error)) ?? [];
  return fail('database', what ?? messageOf(error), remedy ?? 'restore a backup, or move the file away');
}

/** In a damaged file any look may fail: the others are taken all the same. */
function looked(name: string, look: () => Check): Check {
  try {
    return look();
  } catch (error) {
    return fail(name, messageOf(error), remedyFor(error) ?? 'see the other checks of the database');
  }
}

function checkSchema(db: Db, path: string): Check {
  const version = db.prepare<[], number>('SELECT schema_version FROM mirror_status').pluck().get() ?? 0;
  const size = megabytes(statSync(path).size);
  const known = knownSchemaVersion();
  const message = `${path}, ${size}, schema version ${version}`;
  if (version === known) return ok('database', message);
  return warn('database', `${message} of ${known}`, 'start the service: it brings it up to date');
}

function checkIntegrity(db: Db, isWhole: boolean): Check {
  const pragma = isWhole ? 'integrity_check' : 'quick_check';
  try {
    const found = explain('the database', () => db.pragma(`${pragma}(1)`, { simple: true }));
    return found === 'ok'
      ? ok('integrity', `${pragma} found no fault`)
      : fail('integrity', `${pragma}: ${String(found)}`, DAMAGED);
  } catch (error) {
    return fail('integrity', messageOf(error), DAMAGED);
  }
}

function checkRoom(path: string): Check {
  const folder = existingFolder(dirname(path));
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  const fileBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const message = `${megabytes(freeBytes)} free in ${folder}, the database has ${megabytes(fileBytes)}`;
  if (freeBytes < LITTLE_ROOM_BYTES)
    return fail('disk', message, 'make room: what cannot be stored is answered 503');
  if (freeBytes < fileBytes) return warn('disk', message, 'make room: not even a backup fits');
  return ok('disk', message);
}

function existingFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existingFolder(dirname(folder));
}

function checkPermissions(path: string): Check[] {
  const mayWrite = [path, existingFolder(dirname(path))].filter((each) => existsSync(each));
  for (const each of mayWrite) {
    try {
      accessSync(each, constants.W_OK);
    } catch {
      return [
        fail(
          'permissions',
          `${each} may not be written by this user`,
          'let the user who runs the service write it',
        ),
      ];
    }
  }
  const open = (each: string, mask: number): boolean =>
    ((statSync(each, { throwIfNoEntry: false })?.mode ?? 0) & mask) !== 0;
  const found: Check[] = [];
  if (open(path, 0o002)) {
    found.push(warn('permissions', `every user may write ${path}`, `chmod o-w ${path}`));
  }
  for (const secret of [`${path}.token`, join(process.cwd(), '.env')]) {
    if (!open(secret, 0o077)) continue;
    found.push(
      warn('permissions', `other users may read ${secret}, which holds secrets`, `chmod 600 ${secret}`),
    );
  }
  return found.length > 0
    ? found
    : [ok('permissions', 'database and folder may be written, secrets are private')];
}

/** The mark first: read after the position, it could be ahead of it by what a server has written in between. */
function checkHistory(db: Db, path: string): Check {
  let mark;
  try {
    mark = readMark(path);
  } catch (error) {
    return warn('history', messageOf(error), 'start the service: it writes a new one');
  }
  const position = new MarkKeeper(db, path).position();
  const recorded = db
    .prepare<[], { inode: string | null; bornAtMs: number | null }>(
      'SELECT file_inode AS inode, file_born_at_ms AS bornAtMs FROM service_state',
    )
    .get();
  const inode = recorded?.inode ?? null;
  const file = inode === null ? null : { inode, bornAtMs: recorded?.bornAtMs ?? 0 };
  const why = whyRestarted({ ...position, file }, findFile(path), mark);
  const message = `epoch ${position.epoch}, change feed at ${position.changeSeq}`;
  if (why !== null) {
    return warn(
      'history',
      `${message}: ${why}`,
      'nothing: the next start begins a new epoch and reads everything',
    );
  }
  if (mark === null && file !== null) {
    return warn('history', `${message}, no mark beside the database`, 'nothing: a running service writes it');
  }
  return ok('history', message);
}
