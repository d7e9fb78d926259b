/**
 * The write-ahead log, and who holds it: a reader that stays in a transaction keeps the log from being reused from
 * its start.
 */
import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { megabytes, ok, warn, type Check } from './check.ts';

/** Above this the mirror has the log reused from its start, unless a reader holds it. */
const HELD_BYTES = 32e6;
const LOOKS = 5;
const LOOK_EVERY_MS = 400;
/** A reader in a transaction holds a shared lock on one of these bytes of the -shm file (SQLite's wal.c). */
const FIRST_READ_LOCK = 123;
const LAST_READ_LOCK = 127;

export async function checkWal(path: string): Promise<Check> {
  const sizeBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (sizeBytes === 0) return ok('write-ahead log', 'empty');
  const holders = await stayingReaders(`${path}-shm`);
  return judgeWal(sizeBytes, holders);
}

export function judgeWal(sizeBytes: number, holders: readonly string[]): Check {
  const held = holders.length === 0 ? '' : `; held by a read transaction of ${holders.join(', ')}`;
  const message = `${megabytes(sizeBytes)}${held}`;
  if (sizeBytes < HELD_BYTES) return ok('write-ahead log', message);
  return warn(
    'write-ahead log',
    message,
    holders.length > 0
      ? 'end that transaction: until then the log grows with every write'
      : 'a running mirror shortens it once no reader holds it',
  );
}

/** Processes that were in a read transaction at every look. Known on Linux only. */
async function stayingReaders(shmPath: string): Promise<string[]> {
  const inode = statSync(shmPath, { bigint: true, throwIfNoEntry: false })?.ino.toString();
  if (inode === undefined || process.platform !== 'linux') return [];
  let staying = readersOf(readFileSync('/proc/locks', 'utf8'), inode);
  for (let look = 1; look < LOOKS && staying.size > 0; look += 1) {
    await sleep(LOOK_EVERY_MS);
    const now = readersOf(readFileSync('/proc/locks', 'utf8'), inode);
    staying = new Set([...staying].filter((pid) => now.has(pid)));
  }
  return [...staying].map((pid) => `process ${pid}${nameOf(pid)}`);
}

/** @param locks the text of /proc/locks. */
export function readersOf(locks: string, inode: string): Set<number> {
  const pids = new Set<number>();
  for (const line of locks.split('\n')) {
    // 12: POSIX  ADVISORY  READ 1234 08:01:5678 123 123
    const [, type, , mode, pid, file, start, end] = line.trim().split(/\s+/);
    if (type !== 'POSIX' || mode !== 'READ' || file?.split(':')[2] !== inode) continue;
    if (Number(start) <= LAST_READ_LOCK && Number(end) >= FIRST_READ_LOCK) pids.add(Number(pid));
  }
  return pids;
}

function nameOf(pid: number): string {
  try {
    const [program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return ` (${basename(program)})`;
  } catch {
    // The process has ended since.
    return '';
  }
}
