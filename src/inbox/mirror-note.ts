/**
 * A small file next to the mirror's that outlives it: the change numbers that readers may have seen, by which a start
 * recognises an older copy of the mirror (docs/architecture.md#start), and the rows of the inbox that the receiver may
 * delete. The receiver reads it instead of the mirror's file, so that it never waits for that one.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { ownFile } from '../sqlite/database-files.ts';

export interface HandedOut {
  readonly epoch: string;
  readonly changeSeq: number;
}

export interface MirrorNote extends HandedOut {
  /** The inbox that the mirror follows, and the last of its rows that the mirror has released. */
  readonly inboxId: string;
  readonly prunableSeq: number;
}

/** null if there was never a mirror, or the note cannot be read. */
export function readMirrorNote(databasePath: string): MirrorNote | null {
  try {
    const note = JSON.parse(readFileSync(ownFile(databasePath, 'numbers'), 'utf8')) as Readonly<
      Record<string, unknown>
    >;
    const { epoch, change_seq: changeSeq, inbox_id: inboxId, prunable_seq: prunableSeq } = note;
    const isNote =
      typeof epoch === 'string' &&
      Number.isSafeInteger(changeSeq) &&
      typeof inboxId === 'string' &&
      Number.isSafeInteger(prunableSeq);
    return isNote
      ? { epoch, changeSeq: changeSeq as number, inboxId, prunableSeq: prunableSeq as number }
      : null;
  } catch {
    return null;
  }
}

/**
 * Replaces the note by one that is on disk: after a power cut, an older note may be there, but never an empty one, with
 * which an older copy of the mirror would pass for the present one. @throws Error of the system
 */
export function writeMirrorNote(databasePath: string, note: MirrorNote): void {
  const { epoch, changeSeq, inboxId, prunableSeq } = note;
  const path = ownFile(databasePath, 'numbers');
  const unfinished = ownFile(path, 'unfinished');
  const json = { epoch, change_seq: changeSeq, inbox_id: inboxId, prunable_seq: prunableSeq };
  writeFileSync(unfinished, JSON.stringify(json), { mode: 0o600, flush: true });
  renameSync(unfinished, path);
}
