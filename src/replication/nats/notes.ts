/** Values by key, in a bucket. Keys are NATS subjects, so other characters are escaped as `=hex=`. */
import type { KV } from '@nats-io/kv';
import type { Notes } from '../transport.ts';
import { Bucket } from './bucket.ts';
import { streamOf } from './layout.ts';
import type { Parts } from './parts.ts';

export class BucketNotes implements Notes {
  readonly #bucket: Bucket;
  readonly #stream: string;

  constructor(parts: Parts, part: 'live' | 'state') {
    this.#bucket = new Bucket(parts, part);
    this.#stream = streamOf(parts.layout.names, part);
  }

  get(key: string): Promise<unknown> {
    return this.#bucket.with(`${key} cannot be looked up`, async (kv) => valueIn(kv, keyOf(key)));
  }

  async put(key: string, value: unknown): Promise<void> {
    await this.#bucket.with(`${key} cannot be noted`, (kv) => kv.put(keyOf(key), JSON.stringify(value)));
  }

  list(prefix: string): Promise<ReadonlyMap<string, unknown>> {
    return this.#bucket.with(`${prefix} cannot be listed`, async (kv, { jsm }) => {
      const subject = `$KV.${this.#bucket.name}.`;
      const { state } = await jsm.streams.info(this.#stream, { subjects_filter: `${subject}>` });
      const keys = Object.keys(state.subjects ?? {})
        .map((name) => name.slice(subject.length))
        .filter((key) => nameOf(key).startsWith(prefix))
        .sort();
      const values = await Promise.all(keys.map(async (key) => valueIn(kv, key)));
      return new Map(
        keys.map((key, i) => [nameOf(key), values[i]] as const).filter(([, value]) => value !== null),
      );
    });
  }

  async delete(key: string): Promise<void> {
    await this.#bucket.with(`${key} cannot be deleted`, (kv) => kv.purge(keyOf(key)));
  }
}

async function valueIn(kv: KV, key: string): Promise<unknown> {
  const entry = await kv.get(key);
  return entry?.operation !== 'PUT' ? null : entry.json();
}

function keyOf(name: string): string {
  return name
    .replaceAll(/[^\w.-]/gu, (char) => `=${char.codePointAt(0)?.toString(16) ?? ''}=`)
    .replaceAll(/^\.|\.$|(?<=\.)\./g, '=2e=');
}

function nameOf(key: string): string {
  return key.replaceAll(/=([0-9a-f]+)=/g, (_, code: string) =>
    String.fromCodePoint(Number.parseInt(code, 16)),
  );
}
