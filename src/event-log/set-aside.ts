/** A mirror that is damaged, or changed by hand, is moved out of the way of the one that is made anew. It is never deleted: somebody may want to know. */
import { chmodSync, closeSync, existsSync, openSync, renameSync, statSync } from 'node:fs';

/** Worth a person's attention. */
export interface AsideNews {
  readonly type: 'mirror_set_aside';
  readonly message: string;
  /** Where it is now. */
  readonly aside: string;
}

const MADE_ANEW =
  'it was moved aside, and the mirror is made anew from the event log, so that no delivery is refused or lost';
const DAMAGED = `the mirror’s file was damaged, by its disk or by another program: ${MADE_ANEW}; see whether the system’s log reports faults of the disk`;
const BY_HAND = `${MADE_ANEW}; open the mirror’s file read-only, and keep tables of your own in a file of your own`;

/** To be called when nothing in this process has it open. @returns null when there is no such file, or nothing in it. */
export function setAside(path: string, nowMs: number, byHand: string | null = null): AsideNews | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.size === 0) return null;
  const aside = freeName(
    `${path}.damaged-${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`,
  );
  for (const end of ['', '-wal', '-shm']) if (existsSync(path + end)) renameSync(path + end, aside + end);
  // Whoever could read the one can read the other.
  closeSync(openSync(path, 'wx'));
  chmodSync(path, found.mode);
  return {
    type: 'mirror_set_aside',
    message: byHand === null ? DAMAGED : `${byHand}: ${BY_HAND}`,
    aside,
  };
}

function freeName(name: string): string {
  for (let n = 1; ; n += 1) {
    const free = n === 1 ? name : `${name}-${n}`;
    if (!existsSync(free)) return free;
  }
}
