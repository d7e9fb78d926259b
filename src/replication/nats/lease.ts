/** The lease: a key that expires, written only by a process that names its last revision. */
import type { Lease } from '../transport.ts';
import { Bucket } from './bucket.ts';
import { apiCodeOf, WRONG_LAST_SEQUENCE } from './failure.ts';
import type { Parts } from './parts.ts';

const KEY = 'lease';

export class BucketLease implements Lease {
  readonly #bucket: Bucket;

  constructor(parts: Parts) {
    this.#bucket = new Bucket(parts, 'live');
  }

  take(holder: string): Promise<number | null> {
    return this.#bucket.with('the lease cannot be taken', (kv) => unlessTaken(kv.create(KEY, holder)));
  }

  renew(holder: string, revision: number): Promise<number | null> {
    return this.#bucket.with('the lease cannot be renewed', (kv) =>
      unlessTaken(kv.update(KEY, holder, revision)),
    );
  }

  async release(revision: number): Promise<void> {
    await this.#bucket.with('the lease cannot be given back', (kv) =>
      unlessTaken(kv.delete(KEY, { previousSeq: revision })),
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
