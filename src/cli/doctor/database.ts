/** The mirror's file: present, ours, undamaged, with room to grow, readable by the right users only. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { explain, remedyFor } from '../../sqlite/explain.ts';
import { isThere } from '../../sqlite/is-there.ts';
import { knownSchemaVersion } from '../../sqlite/migrate.ts';
import type { Db } from '../../sqlite/open.ts';
import { openMirrorOfAnyAge } from '../shared/mirror-file.ts';
import { messageOf } from '../../platform/thrown.ts';
import { fail, megabytes, ok, warn, type Check } from './check.ts';
import { checkInbox } from './inbox.ts';

const DAMAGED = 'start the mirror: it moves the file aside and reads everything again';
const LITTLE_ROOM_BYTES = 100e6;

/** @param isWhole also checks every index against its table, which takes several times as long. */
export function checkDatabase(path: string, { full: isWhole }: { readonly full: boolean }): Check[] {
  let db;
  let places: Check[] = [];
  try {
    const isMade = isThere(path);
    places = [...checkDisk(path), ...checkPermissions(path)];
    if (!isMade) {
      return [
        warn(
          'database',
          `${path} does not exist`,
          'start the mirror: it creates the file and reads everything',
        ),
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
      checkIntegrity(db, { isWhole }),
      ...places,
      ...checkLog(db, path, { isWhole }),
    ];
  } finally {
    db.close();
  }
}

/** What the database refuses comes with the remedy. */
function refused(error: unknown): Check {
  const [, what, remedy] = /^(.*): (.*?)\.?$/s.exec(messageOf(error)) ?? [];
  return fail('database', what ?? messageOf(error), remedy ?? 'restore a backup, or move the file away');
}

function checkLog(db: Db, path: string, { isWhole }: { readonly isWhole: boolean }): Check[] {
  let version;
  try {
    version = db.prepare<[], number>('SELECT schema_version FROM mirror_status').pluck().get();
  } catch {
    // The check of the schema says so.
  }
  return version !== undefined && version < knownSchemaVersion() ? [] : checkInbox(db, path, { isWhole });
}

/** In a damaged file any check may fail; the others are still made. */
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
  return warn('database', `${message} of ${known}`, 'start the mirror: it brings the schema up to date');
}

function checkIntegrity(db: Db, { isWhole }: { readonly isWhole: boolean }): Check {
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

function checkDisk(path: string): Check[] {
  const folder = existingFolder(dirname(path));
  const { bavail, bsize, type } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  const fileBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const message = `${megabytes(freeBytes)} free in ${folder}, the database has ${megabytes(fileBytes)}`;
  const room =
    freeBytes < LITTLE_ROOM_BYTES
      ? fail('disk', message, 'make room: deliveries that cannot be stored are answered 503 and lost')
      : freeBytes < fileBytes
        ? warn('disk', message, 'make room: a backup would not fit')
        : ok('disk', message);
  return [room, ...checkFileSystem(folder, type)];
}

/** By the number that Linux gives it (statfs(2)). */
const NETWORK_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB2',
  0x01021997: '9p',
};

export function checkFileSystem(folder: string, type: number): Check[] {
  const name = NETWORK_FILE_SYSTEMS[type >>> 0];
  if (name === undefined) return [];
  const message = `${folder} is on ${name}, where SQLite's locks, shared memory and syncs cannot be relied on`;
  return [fail('file system', message, 'set DATABASE_PATH to a file on a local disk')];
}

function existingFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existingFolder(dirname(folder));
}

function checkPermissions(path: string): Check[] {
  const mayWrite = [path, `${path}-wal`, `${path}-shm`, existingFolder(dirname(path))].filter((each) =>
    existsSync(each),
  );
  for (const each of mayWrite) {
    try {
      accessSync(each, constants.W_OK);
    } catch {
      return [
        fail(
          'permissions',
          `${each} is not writable by this user`,
          'make it writable for the user who runs the mirror',
        ),
      ];
    }
  }
  const open = (each: string, mask: number): boolean =>
    ((statSync(each, { throwIfNoEntry: false })?.mode ?? 0) & mask) !== 0;
  const found: Check[] = [];
  if (open(path, 0o002)) {
    found.push(warn('permissions', `every user may write to ${path}`, `chmod o-w ${path}`));
  }
  for (const secret of [`${path}.token`, join(process.cwd(), '.env')]) {
    if (!open(secret, 0o077)) continue;
    found.push(
      warn('permissions', `other users may read ${secret}, which holds secrets`, `chmod 600 ${secret}`),
    );
  }
  return found.length > 0
    ? found
    : [ok('permissions', 'database and folder are writable, secrets are private')];
}
