/** Every delivery that was answered is in the log, whatever happened since (DESIGN §1). */
import { bodyHash } from '../../../src/store/log.ts';
import type { Db } from '../../../src/store/open.ts';

export class Answered {
  readonly #fault: (what: string) => void;
  /** By the body's hash, in hex. */
  #bodies = new Map<string, Buffer>();
  #backedUp: Map<string, Buffer> | null = null;

  constructor(fault: (what: string) => void) {
    this.#fault = fault;
  }

  get count(): number {
    return this.#bodies.size;
  }

  add(body: Uint8Array): void {
    const hash = bodyHash(body);
    this.#bodies.set(hash.toString('hex'), hash);
  }

  backUp(): void {
    this.#backedUp = new Map(this.#bodies);
  }

  /** An old file came back: it cannot hold what came after it was made. */
  restore(): void {
    this.#bodies = new Map(this.#backedUp);
  }

  check(db: Db): void {
    const find = db.prepare<[Buffer], number>('SELECT seq FROM log WHERE body_hash = ?').pluck();
    for (const [hex, hash] of this.#bodies) {
      if (find.get(hash) === undefined) this.#fault(`an answered delivery is not in the log: ${hex}`);
    }
    const log = db
      .prepare<[], { count: number; first: number | null; last: number | null }>(
        'SELECT count(*) AS count, min(seq) AS first, max(seq) AS last FROM log',
      )
      .get()!;
    if (log.count > 0 && (log.first !== 1 || log.last !== log.count)) {
      this.#fault(`the log has gaps: ${JSON.stringify(log)}`);
    }
  }
}
