/** Every answered delivery is in the inbox (README.md#promises). */
import type { Delivery } from '../../../src/sandbox/network/webhooks.ts';
import { bodyHash } from '../../../src/receiver/inbox-writer.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import type { Life } from '../virtual-time.ts';

/** Between two heartbeats of a receiver, whose timer may be late. */
const NOTICED_WITHIN_MS = 1_500;

export class Answered {
  readonly #fault: (what: string) => void;
  #bodies = new Map<string, Buffer>();
  #backedUp: Map<string, Buffer> | null = null;
  /** The process that still writes a file which another program has deleted or replaced, and how long it may. */
  #lostFile: { readonly writer: Life; readonly untilMs: number } | null = null;

  constructor(fault: (what: string) => void) {
    this.#fault = fault;
  }

  get count(): number {
    return this.#bodies.size;
  }

  add({ body }: Delivery, receiver: Life | null, nowMs: number): void {
    const isInVain =
      receiver !== null && receiver === this.#lostFile?.writer && nowMs <= this.#lostFile.untilMs;
    if (isInVain) return;
    const hash = bodyHash(body);
    this.#bodies.set(hash.toString('hex'), hash);
  }

  backUp(): void {
    this.#backedUp = new Map(this.#bodies);
  }

  restore(): void {
    this.#bodies = new Map(this.#backedUp);
  }

  /** The inbox is lost. A receiver that runs looks for its files once a second; until then it answers in vain. */
  lose(receiver: Life | null, nowMs: number): void {
    this.#lostFile = receiver === null ? null : { writer: receiver, untilMs: nowMs + NOTICED_WITHIN_MS };
    this.#bodies.clear();
  }

  /** The only disk that had them is lost. @param hashes as hexadecimal digits. */
  excuse(hashes: readonly string[]): void {
    for (const hash of hashes) {
      this.#bodies.delete(hash);
      this.#backedUp?.delete(hash);
    }
  }

  check(db: Db): void {
    const find = db.prepare<[Buffer], number>('SELECT seq FROM inbox WHERE body_hash = ?').pluck();
    for (const [hex, hash] of this.#bodies) {
      if (find.get(hash) === undefined) this.#fault(`an answered delivery is not in the inbox: ${hex}`);
    }
  }
}
