/** Reads the high-water mark back. By hand: no schema is loaded before the first delivery can be answered. */
import { readFileSync } from 'node:fs';
import { findFile, type FoundFile } from './file-identity.ts';
import { markPath, type Mark } from './mark.ts';

export interface FoundMark extends Mark {
  readonly foundFile: FoundFile;
}

/** @returns null when there is none. @throws Error when it cannot be read, or is not a mark. */
export function readMark(databasePath: string): FoundMark | null {
  const path = markPath(databasePath);
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const mark = markOf(text);
  if (mark === null) throw new Error(`${path} is damaged`);
  return { ...mark, foundFile: findFile(path) };
}

function markOf(text: string): Mark | null {
  let found;
  try {
    found = JSON.parse(text) as Record<string, unknown> | null;
  } catch {
    return null;
  }
  if (typeof found !== 'object' || found?.['version'] !== 1) return null;
  const { epoch, changeSeq, logSeq, file } = found;
  const { inode, bornAtMs } = (file ?? {}) as Record<string, unknown>;
  if (typeof epoch !== 'string' || typeof inode !== 'string' || typeof bornAtMs !== 'number') return null;
  if (!isPosition(changeSeq) || !isPosition(logSeq)) return null;
  return { epoch, changeSeq, logSeq, file: { inode, bornAtMs } };
}

function isPosition(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
