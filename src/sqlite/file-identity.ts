/**
 * Which file a path leads to: its inode, and when that was created, since a file system soon reuses the inode of a
 * deleted file. Not the device, whose number changes when the machine restarts.
 *
 * By path only: opening and closing the database file here would release every lock that SQLite holds on it in this
 * process.
 */
import { statSync, type BigIntStats } from 'node:fs';

export interface FileIdentity {
  readonly inode: string;
  /** Zero where the file system keeps no birth times. */
  readonly bornAtMs: number;
}

export interface FoundFile extends FileIdentity {
  /** Without a birth time Node may report the last change in its place: equal instants prove nothing. */
  readonly isBirthKnown: boolean;
}

/** @throws Error of the file system, also when there is no such file. */
export function findFile(path: string): FoundFile {
  return foundFile(statSync(path, { bigint: true }));
}

export function foundFile({
  ino,
  birthtimeNs,
  ctimeNs,
}: Pick<BigIntStats, 'ino' | 'birthtimeNs' | 'ctimeNs'>): FoundFile {
  return {
    inode: String(ino),
    bornAtMs: Number(birthtimeNs / 1_000_000n),
    isBirthKnown: birthtimeNs > 0n && birthtimeNs !== ctimeNs,
  };
}

export function isAnotherFile(recorded: FileIdentity, found: FoundFile): boolean {
  if (recorded.inode !== found.inode) return true;
  return found.isBirthKnown && recorded.bornAtMs > 0 && recorded.bornAtMs !== found.bornAtMs;
}
