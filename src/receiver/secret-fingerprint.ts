import { scryptSync } from 'node:crypto';

const BYTES = 16;
/** Some 10 ms, once at the start: the event loop waits for it while the port is already open. */
const COST = 2 ** 12;

/** @returns a text from which a reader of the file cannot guess the secret; the same for both, always the same. */
export function secretFingerprint(secret: string, inboxId: string): string {
  return scryptSync(secret, inboxId, BYTES, { N: COST }).toString('hex');
}
