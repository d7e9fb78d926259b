/** The engine on NATS JetStream: what carries the entries of one store between its machines. */
import type {
  Batch,
  Engine,
  EngineFinding,
  LeadStanding,
  Lease,
  Notes,
  Publication,
  Published,
  SnapshotFiles,
  Standing,
} from '../transport.ts';
import { loadClient } from './client.ts';
import { Connection } from './connection.ts';
import { Follower } from './follow.ts';
import { inspect } from './inspect.ts';
import { keepHistory } from './keep-history.ts';
import { Layout } from './layout.ts';
import { BucketLease } from './lease.ts';
import { BucketNotes } from './notes.ts';
import type { EngineDeps, EngineOptions } from './options.ts';
import type { Parts } from './parts.ts';
import { Publisher } from './publisher.ts';
import { getSnapshot, putSnapshot } from './snapshots.ts';

/**
 * Connects in the background, for as long as it lives: a server that cannot be reached is no reason not to start.
 *
 * @throws Error when a package of the client is missing.
 */
export async function connectEngine(options: EngineOptions, deps: EngineDeps): Promise<Engine> {
  const client = await loadClient();
  const connection = new Connection(client, options, deps);
  const layout = new Layout(client, options);
  return new NatsEngine({ ...deps, client, connection, layout }, options);
}

class NatsEngine implements Engine {
  readonly name: string;
  readonly lease: Lease;
  readonly presence: Notes;
  readonly state: Notes;
  readonly #parts: Parts;
  readonly #options: EngineOptions;
  readonly #publisher: Publisher;
  readonly #follower: Follower;

  constructor(parts: Parts, options: EngineOptions) {
    const { connection } = parts;
    this.name = connection.name;
    this.#parts = parts;
    this.#options = options;
    this.lease = new BucketLease(parts);
    this.presence = new BucketNotes(parts, 'live');
    this.state = new BucketNotes(parts, 'state');
    this.#publisher = new Publisher(parts);
    this.#follower = new Follower(parts);
  }

  follow(from: Standing, signal: AbortSignal): AsyncIterable<Batch> {
    return this.#follower.follow(from, signal);
  }

  getSnapshot(into: SnapshotFiles, signal: AbortSignal): Promise<boolean> {
    return getSnapshot(this.#parts, into, signal);
  }

  publish(publication: Publication): Promise<Published> {
    return this.#publisher.publish(publication);
  }

  isKept(receipt: unknown): Promise<boolean> {
    return this.#publisher.isKept(receipt);
  }

  keepHistory(from: LeadStanding, signal: AbortSignal): Promise<boolean> {
    return keepHistory(this.#parts, from, signal);
  }

  putSnapshot(files: SnapshotFiles, standing: Standing, signal: AbortSignal): Promise<void> {
    return putSnapshot(this.#parts, { files, standing, signal });
  }

  inspect(): Promise<readonly EngineFinding[]> {
    return inspect(this.#parts, this.#options);
  }

  close(): Promise<void> {
    return this.#parts.connection.close();
  }
}
