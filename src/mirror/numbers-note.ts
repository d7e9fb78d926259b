/**
 * A small file next to the mirror's with the change numbers that readers may have seen. With it, a start recognises an
 * older copy of the mirror that someone put in place (docs/architecture.md#start).
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { ownFile } from '../sqlite/database-files.ts';

export interface HandedOut {
  readonly epoch: string;
  readonly changeSeq: number;
}

/** null if nothing was ever handed out, or the note cannot be read. */
export function readHandedOut(databasePath: string): HandedOut | null {
  try {
    const json: unknown = JSON.parse(readFileSync(ownFile(databasePath, 'numbers'), 'utf8'));
    if (typeof json !== 'object' || json === null) return null;
    const { epoch, change_seq: changeSeq } = json as Readonly<Record<string, unknown>>;
    return typeof epoch === 'string' && Number.isSafeInteger(changeSeq)
      ? { epoch, changeSeq: changeSeq as number }
      : null;
  } catch {
    return null;
  }
}

/**
 * Replaces the note by one that is on disk: after a power cut, an older note may be there, but never an empty one, with
 * which an older copy of the mirror would pass for the present one. @throws Error of the system
 */
export function noteHandedOut(databasePath: string, { epoch, changeSeq }: HandedOut): void {
  const path = ownFile(databasePath, 'numbers');
  const unfinished = ownFile(path, 'unfinished');
  writeFileSync(unfinished, JSON.stringify({ epoch, change_seq: changeSeq }), {
    mode: 0o600,
    flush: true,
  });
  renameSync(unfinished, path);
}
