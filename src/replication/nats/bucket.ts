/** A key-value bucket of the engine. */
import type { KV } from '@nats-io/kv';
import { attempt } from './attempt.ts';
import type { Live } from './connection.ts';
import type { Names } from './layout.ts';
import type { Parts } from './parts.ts';

export class Bucket {
  readonly #parts: Parts;
  readonly #part: keyof Pick<Names, 'live' | 'state'>;

  constructor(parts: Parts, part: keyof Pick<Names, 'live' | 'state'>) {
    this.#parts = parts;
    this.#part = part;
  }

  get name(): string {
    return this.#parts.layout.names[this.#part];
  }

  /** @param what cannot be done, if it cannot, for people. @throws TransportError */
  with<T>(what: string, work: (kv: KV, live: Live) => Promise<T>): Promise<T> {
    const { client } = this.#parts;
    return attempt(this.#parts, what, async (live) => {
      // Without asking whether it is there. Read from its leader.
      const kv = await new client.kv.Kvm(live.js).open(this.name, { allow_direct: false });
      return work(kv, live);
    });
  }
}
