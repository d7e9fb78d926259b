/** Reads the mark back. Separate from mark.ts, whose thread is spared the memory that a schema takes. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { findFile, type FoundFile } from './file-identity.ts';
import { markPath, type Mark } from './mark.ts';

export interface FoundMark extends Mark {
  readonly foundFile: FoundFile;
}

const markSchema = z.object({
  version: z.literal(1),
  epoch: z.string(),
  changeSeq: z.number().int().nonnegative(),
  logSeq: z.number().int().nonnegative(),
  file: z.object({ inode: z.string(), bornAtMs: z.number() }),
});

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
  const parsed = markSchema.safeParse(parseJson(text));
  if (!parsed.success) throw new Error(`${path} is damaged`);
  const { epoch, changeSeq, logSeq, file } = parsed.data;
  return { epoch, changeSeq, logSeq, file, foundFile: findFile(path) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
