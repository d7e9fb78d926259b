import { closeSync, openSync, readSync } from 'node:fs';

/** Offset in the header of an SQLite file. */
const ID_OFFSET = 68;

/** Whether the header of a file, damaged or not, has this application id. @throws Error of the system */
export function hasApplicationId(path: string, applicationId: number): boolean {
  const id = Buffer.alloc(4);
  const file = openSync(path, 'r');
  try {
    return readSync(file, id, 0, id.length, ID_OFFSET) === id.length && id.readInt32BE() === applicationId;
  } finally {
    closeSync(file);
  }
}
