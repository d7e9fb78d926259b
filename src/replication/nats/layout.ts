/** What the engine holds for one store, under which names; made when it is missing. */
import type { StreamConfig } from '@nats-io/jetstream';
import type { Client } from './client.ts';
import type { Live } from './connection.ts';
import { apiCodeOf, isStreamMissing } from './failure.ts';
import { LEASE_MS } from '../transport.ts';

export interface Names {
  readonly stream: string;
  /** Deliveries, other entries, and where a history begins. */
  readonly delivery: string;
  readonly entry: string;
  readonly base: string;
  /** Key-value buckets: what goes after `LEASE_MS`, and what stays. */
  readonly live: string;
  readonly state: string;
  /** The object store. */
  readonly snapshots: string;
}

function namesFor(store: string): Names {
  return {
    stream: `mirror_${store}`,
    delivery: `mirror.${store}.delivery`,
    entry: `mirror.${store}.entry`,
    base: `mirror.${store}.base`,
    live: `mirror_${store}_live`,
    state: `mirror_${store}_state`,
    snapshots: `mirror_${store}_snapshots`,
  };
}

/** As JetStream names them, which has streams alone. */
export function streamsOf({ stream, live, state, snapshots }: Names): readonly string[] {
  return [stream, `KV_${live}`, `KV_${state}`, `OBJ_${snapshots}`];
}

/**
 * Within it, what is published again is recognised by its id; a bit longer than outboxes keep what was acknowledged. The
 * servers hold these ids in memory, and later ones are recognised by each log.
 */
const DUPLICATE_WINDOW_MS = 11 * 60_000;
const NAME_IN_USE = 10058;

export class Layout {
  readonly names: Names;
  readonly #client: Client;
  readonly #replicas: number;
  /** Of one life of the connection: whatever is deleted meanwhile is noticed by who misses it. */
  #ready: { readonly life: number; readonly done: Promise<void> } | null = null;

  constructor(client: Client, store: string, replicas: number) {
    this.names = namesFor(store);
    this.#client = client;
    this.#replicas = replicas;
  }

  /** All of it is there. */
  async ready(live: Live): Promise<void> {
    if (this.#ready?.life !== live.life) {
      const done = this.#make(live);
      const ready = { life: live.life, done };
      this.#ready = ready;
      done.catch(() => {
        if (this.#ready === ready) this.#ready = null;
      });
    }
    await this.#ready?.done;
  }

  /** Something failed: if that is because a part of it is gone, the next one who needs it makes it again. */
  recheck(error: unknown): void {
    if (isStreamMissing(error)) this.#ready = null;
  }

  async #make(live: Live): Promise<void> {
    const { kv, obj } = this.#client;
    const { js } = live;
    const replicas = this.#replicas;
    await this.#makeStream(live);
    const kvm = new kv.Kvm(js);
    // Asked of the leader alone: another server may not know yet what was written last.
    const bucket = { replicas, allow_direct: false };
    await again(() => kvm.create(this.names.live, { ...bucket, ttl: LEASE_MS }));
    await again(() => kvm.create(this.names.state, bucket));
    await again(() => new obj.Objm(js).create(this.names.snapshots, { replicas }));
  }

  async #makeStream({ jsm }: Live): Promise<void> {
    const { stream, delivery, entry, base } = this.names;
    const { RetentionPolicy, StorageType, DiscardPolicy } = this.#client.jetstream;
    const config = {
      name: stream,
      subjects: [delivery, entry, base],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      // Rather refused than lost.
      discard: DiscardPolicy.New,
      num_replicas: this.#replicas,
      duplicate_window: this.#client.transport.nanos(DUPLICATE_WINDOW_MS),
    } satisfies Partial<StreamConfig> & { name: string };
    await again(async () => {
      try {
        await jsm.streams.info(stream);
      } catch (error) {
        if (!isStreamMissing(error) || apiCodeOf(error) === null) throw error;
        await jsm.streams.add(config);
      }
    });
  }
}

/** Somebody else may have made it in between. */
async function again(make: () => Promise<unknown>): Promise<void> {
  try {
    await make();
  } catch (error) {
    if (apiCodeOf(error) !== NAME_IN_USE) throw error;
    await make();
  }
}
