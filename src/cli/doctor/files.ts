import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inboxPath } from '../../inbox/inbox-file.ts';
import { ownFile } from '../../sqlite/database-files.ts';
import { isThere } from '../../sqlite/is-there.ts';
import { openReader, type Db } from '../../sqlite/open.ts';
import { openMirrorFile } from '../shared/mirror-file.ts';
import { fail, ok, warn, type Finding } from './check.ts';

const LITTLE_ROOM_BYTES = 100e6;
/** The mirror restarts its write-ahead log at a smaller size, unless a reader's transaction prevents it. */
const HELD_WAL_BYTES = 32e6;

interface Depth {
  /** Also checks every index against its table: several times slower. */
  readonly full: boolean;
}

export function checkDatabase(path: string, depth: Depth): Finding[] {
  if (!isThere(path)) {
    return [warn(`${path} does not exist`, 'start the mirror: it creates the file and reads everything')];
  }
  const walBytes = sizeOf(`${path}-wal`);
  const remedy = 'start the mirror: it moves the file aside and reads everything again';
  const found = [checkPages(path, openMirrorFile(path), depth, remedy)];
  if (walBytes >= HELD_WAL_BYTES) {
    found.push(
      warn(
        `its write-ahead log has ${megabytes(walBytes)}, probably because of a reader's long transaction`,
        `find the reader with \`fuser -v ${path}-shm\`, and end its transaction`,
      ),
    );
  }
  return found;
}

export function checkInbox(path: string, depth: Depth): Finding {
  const file = inboxPath(path);
  if (!isThere(file)) {
    if (!isThere(path)) return ok('the first start creates it');
    return warn(
      `${file} does not exist`,
      'nothing to do: the next start begins a new epoch and reads everything',
    );
  }
  const remedy = 'stop the mirror and move the file away: the next start reads everything from the store';
  return checkPages(file, openReader(file), depth, remedy);
}

function checkPages(path: string, db: Db, { full: isFull }: Depth, remedy: string): Finding {
  const pragma = isFull ? 'integrity_check' : 'quick_check';
  try {
    const found = String(db.pragma(`${pragma}(1)`, { simple: true }));
    const bytes = sizeOf(path) + sizeOf(`${path}-wal`);
    if (found === 'ok') return ok(`${path}, ${megabytes(bytes)}, ${pragma} found no fault`);
    return fail(`${path}: ${pragma}: ${found}`, remedy);
  } catch (error) {
    return fail(`${path}: ${String(error)}`, remedy);
  } finally {
    db.close();
  }
}

export function checkDisk(path: string): Finding[] {
  const folder = existingFolder(dirname(path));
  const { bavail, bsize, type } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  const fileBytes = sizeOf(path) + sizeOf(`${path}-wal`);
  const message = `${megabytes(freeBytes)} free in ${folder}, the database has ${megabytes(fileBytes)}`;
  const room =
    freeBytes < LITTLE_ROOM_BYTES
      ? fail(
          message,
          'make room: deliveries that cannot be stored are answered 503, and their products are read later',
        )
      : freeBytes < fileBytes
        ? warn(message, 'make room: a backup would not fit')
        : ok(message);
  return [room, ...checkFileSystem(folder, type)];
}

/** By Linux's magic number (statfs(2)). */
const NETWORK_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB2',
  0x01021997: '9p',
};

export function checkFileSystem(folder: string, type: number): Finding[] {
  const name = NETWORK_FILE_SYSTEMS[type >>> 0];
  if (name === undefined) return [];
  const message = `${folder} is on ${name}, where SQLite's locks, shared memory and syncs are unreliable`;
  return [fail(message, 'set DATABASE_PATH to a file on a local disk')];
}

export function checkPermissions(path: string): Finding[] {
  const found: Finding[] = [];
  const inbox = inboxPath(path);
  const own = [path, inbox].flatMap((file) => ['', '-wal', '-shm'].map((side) => file + side));
  for (const each of [...own, existingFolder(dirname(path))]) {
    try {
      if (existsSync(each)) accessSync(each, constants.W_OK);
    } catch {
      found.push(
        fail(`${each} is not writable by this user`, 'make it writable for the user who runs the mirror'),
      );
    }
  }
  if (hasMode(path, 0o002)) found.push(warn(`every user may write to ${path}`, `chmod o-w ${path}`));
  for (const secret of [inbox, ownFile(path, 'token'), join(process.cwd(), '.env')]) {
    if (hasMode(secret, 0o077)) found.push(warn(`other users may read ${secret}`, `chmod 600 ${secret}`));
  }
  return found.length > 0 ? found : [ok('database and folder are writable, secrets are private')];
}

function hasMode(path: string, mask: number): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & mask) !== 0;
}

function existingFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existingFolder(dirname(folder));
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function megabytes(bytes: number): string {
  return bytes >= 10e9 ? `${(bytes / 1e9).toFixed(0)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
