/**
 * Writes an export to a draft file first, as fast as the disk takes it, and then moves it into place or copies it to
 * the standard output. A slow reader of that output then cannot keep the database's read transaction open.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { inboxPath } from '../../inbox/inbox.ts';
import { linksFollowed } from '../../platform/links-followed.ts';
import { refuseTarget } from '../../sqlite/file-target.ts';

interface WriteOptions {
  readonly chunks: Iterable<string>;
  /** Called when all chunks have been written. */
  readonly onRead: () => void;
  /** Null: the standard output. */
  readonly path: string | null;
  /** Replace an existing file. */
  readonly force: boolean;
  /** Never replaced: the database that is read. */
  readonly databasePath: string;
  readonly interrupted: AbortSignal;
}

/** @returns false when interrupted: the file at `path` is then as it was. @throws Error naming what is in the way. */
export async function writeAll(options: WriteOptions): Promise<boolean> {
  const { path, force, databasePath } = options;
  if (path !== null) refuseTarget([databasePath, inboxPath(databasePath)], path, { force });
  try {
    return await write(options);
  } catch (error) {
    throw named(error, path);
  }
}

async function write({ chunks, onRead, path, interrupted }: WriteOptions): Promise<boolean> {
  const name = `.${path === null ? 'stock-mirror-export' : basename(path)}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const target = path === null ? null : linksFollowed(path);
  const draft = join(target === null ? tmpdir() : dirname(target), name);
  // A draft that is only passed on is private; a file gets the permissions of the one that it replaces, or of the user's other files.
  const file = await open(draft, 'wx', path === null ? 0o600 : 0o666);
  try {
    const old = target === null ? undefined : statSync(target, { throwIfNoEntry: false });
    if (old !== undefined) {
      await file.chown(old.uid, old.gid);
      await file.chmod(old.mode & 0o777);
    }
    const isWhole = await fill(file, chunks, interrupted).finally(onRead);
    if (!isWhole) return false;
    if (target === null) return await toStandardOutput(draft, interrupted);
    await file.sync();
    await rename(draft, target);
    return true;
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
}

async function fill(file: FileHandle, chunks: Iterable<string>, interrupted: AbortSignal): Promise<boolean> {
  for (const chunk of chunks) {
    // All of it: a disk that fills up takes a part first, without an error. Also lets Ctrl-C be handled.
    await file.writeFile(chunk);
    if (interrupted.aborted) return false;
  }
  return true;
}

async function toStandardOutput(draft: string, interrupted: AbortSignal): Promise<boolean> {
  try {
    await pipeline(createReadStream(draft), process.stdout, { end: false, signal: interrupted });
    return true;
  } catch (error) {
    if (interrupted.aborted) return false;
    // The draft is only read here: output.ts handles an output that takes no more, where that is a failure.
    if ((error as NodeJS.ErrnoException).syscall === 'write') return true;
    throw error;
  }
}

/** A full disk and the like, named with its folder. SQLite's own errors are named already. */
function named(error: unknown, path: string | null): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  const folder = path === null ? tmpdir() : dirname(path);
  const remedy =
    path === null
      ? 'check that there is room and that this user may write there, or set TMPDIR to another folder'
      : 'check that there is room and that this user may write there, or name a file elsewhere';
  return new Error(`cannot write in ${folder} (${code}): ${remedy}`, { cause: error });
}
