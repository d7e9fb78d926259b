/**
 * Writes an export to a file first, as fast as the disk takes it, and then in place of the old file, or to the standard
 * output: who reads that may take any time, and the database's read transaction is over by then.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';

export interface WriteOptions {
  readonly chunks: Iterable<string>;
  /** Told when all chunks have been taken. */
  readonly onRead: () => void;
  /** Null: the standard output. */
  readonly path: string | null;
  readonly interrupted: AbortSignal;
}

/** @returns false when interrupted: the file at `path` is as it was then. @throws Error of the file system. */
export async function writeAll({ chunks, onRead, path, interrupted }: WriteOptions): Promise<boolean> {
  if (path !== null && !existsSync(dirname(path))) {
    throw new Error(`the folder ${dirname(path)} does not exist: make it first`);
  }
  if (path !== null && statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    throw new Error(`${path} is not a file: name one, or leave out --output for the standard output`);
  }
  const name = `.${path === null ? 'stock-mirror-export' : basename(path)}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const draft = join(path === null ? tmpdir() : dirname(path), name);
  // What is only passed on is for nobody else to read; a file is for whom the user's files are.
  const file = await open(draft, 'wx', path === null ? 0o600 : 0o666);
  try {
    const isWhole = await fill(file, chunks, interrupted).finally(onRead);
    if (!isWhole) return false;
    if (path === null) return await toStandardOutput(draft, interrupted);
    await file.sync();
    await rename(draft, path);
    return true;
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
}

async function fill(file: FileHandle, chunks: Iterable<string>, interrupted: AbortSignal): Promise<boolean> {
  for (const chunk of chunks) {
    // Also lets Ctrl-C be heard.
    await file.write(chunk);
    if (interrupted.aborted) return false;
  }
  return true;
}

async function toStandardOutput(draft: string, interrupted: AbortSignal): Promise<boolean> {
  // The last of it may be refused after all has been handed on.
  process.stdout.on('error', (error) => {
    if (!isBrokenPipe(error)) throw error;
  });
  try {
    await pipeline(createReadStream(draft), process.stdout, { end: false, signal: interrupted });
    return true;
  } catch (error) {
    if (interrupted.aborted) return false;
    if (isBrokenPipe(error)) return true;
    throw error;
  }
}

/** The reader has what it wanted, as `head` does. */
function isBrokenPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EPIPE';
}
