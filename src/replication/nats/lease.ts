/** The lease: a key that goes by itself, written only by who names its last revision. */
import type { KV } from '@nats-io/kv';
import type { Lease } from '../transport.ts';
import { attempt } from './attempt.ts';
import { apiCodeOf, WRONG_LAST_SEQUENCE } from './failure.ts';
import { openBucket } from './notes.ts';
import type { Parts } from './parts.ts';

const KEY = 'lease';

export class BucketLease implements Lease {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  take(holder: string): Promise<number | null> {
    return this.#with('the lease cannot be taken', (kv) => unlessTaken(kv.create(KEY, holder)));
  }

  renew(holder: string, revision: number): Promise<number | null> {
    return this.#with('the lease cannot be renewed', (kv) => unlessTaken(kv.update(KEY, holder, revision)));
  }

  async release(revision: number): Promise<void> {
    await this.#with('the lease cannot be given back', (kv) =>
      unlessTaken(kv.delete(KEY, { previousSeq: revision })),
    );
  }

  #with<T>(what: string, work: (kv: KV) => Promise<T>): Promise<T> {
    return attempt(this.#parts, what, async (live) =>
      work(await openBucket(this.#parts, live, this.#parts.layout.names.live)),
    );
  }
}

async function unlessTaken<T>(writing: Promise<T>): Promise<T | null> {
  try {
    return await writing;
  } catch (error) {
    const code = apiCodeOf(error);
    if (code !== null && WRONG_LAST_SEQUENCE.has(code)) return null;
    throw error;
  }
}
