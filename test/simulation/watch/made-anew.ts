/**
 * Two mirrors of one event log are equal: `stock-mirror rebuild --check` makes a second one with the program's own
 * projection, in other portions than the first, and compares the digests of all tables that the rules write
 * (docs/architecture.md#the-event-log).
 */
import type { Db } from '../../../src/sqlite/open.ts';
import { rebuildMirror } from '../../../src/mirror/rebuild.ts';

/**
 * @param path of the mirror, that nobody writes any more.
 * @param db reads it together with its event log.
 * @returns whether the event log is whole. Otherwise it must be refused: what it lacks would be left out of the mirror.
 */
export async function checkMadeAnew(path: string, db: Db, fault: (what: string) => void): Promise<boolean> {
  const isWhole =
    db.prepare<[], number>('SELECT min(seq) = 1 AND count(*) = max(seq) FROM log').pluck().get() === 1;
  try {
    const made = await rebuildMirror(path, {
      check: true,
      nowMs: 0,
      onProgress: () => undefined,
      interrupted: new AbortController().signal,
    });
    if (!isWhole) fault('a mirror was made of an event log that lacks entries');
    for (const table of made?.differing ?? ['everything'])
      fault(`made anew from the event log, another mirror: ${table}`);
  } catch (error) {
    if (isWhole) fault(`the mirror cannot be made anew: ${String(error)}`);
  }
  return isWhole;
}
