/** Every answered delivery is in the inbox (docs/architecture.md#promises). */
import type { Delivery } from '../../../src/sandbox/network/webhooks.ts';
import { bodyHash } from '../../../src/receiver/inbox-writer.ts';
import type { Db } from '../../../src/sqlite/open.ts';

interface AnsweredBody {
  readonly hash: Buffer;
  readonly variantIds: readonly string[];
}

export class Answered {
  readonly #fault: (what: string) => void;
  #bodies = new Map<string, AnsweredBody>();
  #backedUp: ReadonlyMap<string, AnsweredBody> | null = null;
  readonly forgotten = new Set<string>();

  constructor(fault: (what: string) => void) {
    this.#fault = fault;
  }

  get count(): number {
    return this.#bodies.size;
  }

  add({ body, items }: Delivery): void {
    const hash = bodyHash(body);
    this.#bodies.set(hash.toString('hex'), { hash, variantIds: items.map(({ id }) => id) });
  }

  backUp(): void {
    this.#backedUp = new Map(this.#bodies);
  }

  restore(): void {
    this.forget();
    this.#bodies = new Map(this.#backedUp);
  }

  /** The inbox is lost. */
  lose(): void {
    this.forget();
    this.#bodies.clear();
  }

  forget(): void {
    for (const { variantIds } of this.#bodies.values()) for (const id of variantIds) this.forgotten.add(id);
  }

  check(db: Db): void {
    const find = db.prepare<[Buffer], number>('SELECT seq FROM inbox WHERE body_hash = ?').pluck();
    for (const [hex, { hash }] of this.#bodies) {
      if (find.get(hash) === undefined) this.#fault(`an answered delivery is not in the inbox: ${hex}`);
    }
  }
}
