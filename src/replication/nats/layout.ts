/** What the engine holds for one store, under which names; made when it is missing. */
import type { StreamConfig } from '@nats-io/jetstream';
import type { Client } from './client.ts';
import type { Live } from './connection.ts';
import { apiCodeOf, isStreamMissing } from './failure.ts';
import type { EngineOptions } from './options.ts';
import { LEASE_MS, TransportError } from '../transport.ts';

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

/** The stream below a bucket or an object store, which JetStream builds on streams. */
export function streamOf(names: Names, part: (typeof PARTS)[number]): string {
  const prefix = { stream: '', live: 'KV_', state: 'KV_', snapshots: 'OBJ_' }[part];
  return `${prefix}${names[part]}`;
}

export function streamsOf(names: Names): readonly string[] {
  return PARTS.map((part) => streamOf(names, part));
}

/**
 * Within it, what is published again is recognised by its id; a bit longer than outboxes keep what was acknowledged. The
 * servers hold these ids in memory, and later ones are recognised by each log.
 */
const DUPLICATE_WINDOW_MS = 11 * 60_000;
const NAME_IN_USE = 10058;
const MISSING_FOR_MS = 15_000;

export class Layout {
  readonly names: Names;
  readonly #client: Client;
  readonly #replicas: number;
  /** The process has kept nothing yet: what is missing at its start was never there. */
  readonly #isNew: boolean;
  #wasThere = false;
  /** On the monotonic clock; null: nothing is. */
  #missingSinceMs: number | null = null;
  /** Checked once for each life of the connection; what is deleted later is noticed by the part that needs it. */
  #ready: { readonly life: number; readonly done: Promise<void> } | null = null;

  constructor(
    client: Client,
    { store, replicas, isNew }: Pick<EngineOptions, 'store' | 'replicas' | 'isNew'>,
  ) {
    this.names = namesFor(store);
    this.#client = client;
    this.#replicas = replicas;
    this.#isNew = isNew;
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

  /** Call it after a failure: if a part is gone, the next `ready` makes it again. */
  recheck(error: unknown): void {
    if (isStreamMissing(error)) this.#ready = null;
  }

  async #make(live: Live): Promise<void> {
    const missing = await this.#missing(live);
    this.#refuseTooEarly(missing);
    for (const name of missing) await again(() => this.#makers(live)[name]());
    this.#wasThere = true;
    this.#missingSinceMs = null;
  }

  async #missing({ jsm }: Live): Promise<(keyof Makers)[]> {
    const found = await Promise.all(
      PARTS.map(async (name) => {
        try {
          await jsm.streams.info(streamOf(this.names, name));
          return null;
        } catch (error) {
          if (!isStreamMissing(error) || apiCodeOf(error) === null) throw error;
          return name;
        }
      }),
    );
    return found.filter((name) => name !== null);
  }

  /** @throws TransportError: made too early, an empty one would take the place of what servers are about to remember. */
  #refuseTooEarly(missing: readonly (keyof Makers)[]): void {
    if (missing.length === 0 || (this.#isNew && !this.#wasThere)) return;
    this.#missingSinceMs ??= performance.now();
    if (performance.now() - this.#missingSinceMs >= MISSING_FOR_MS) return;
    const names = missing.map((name) => streamOf(this.names, name)).join(', ');
    throw new TransportError(
      `the engine has no ${names}: servers that were just started may not know of it yet; what stays missing is made anew`,
    );
  }

  #makers({ js, jsm }: Live): Makers {
    const { names } = this;
    const { kv, obj, jetstream, transport } = this.#client;
    const { RetentionPolicy, StorageType, DiscardPolicy } = jetstream;
    const replicas = this.#replicas;
    const kvm = new kv.Kvm(js);
    // Asked of the leader alone: another server may not know yet what was written last.
    const bucket = { replicas, allow_direct: false };
    const config = {
      name: names.stream,
      subjects: [names.delivery, names.entry, names.base],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      // Rather refused than lost.
      discard: DiscardPolicy.New,
      num_replicas: replicas,
      duplicate_window: transport.nanos(DUPLICATE_WINDOW_MS),
    } satisfies Partial<StreamConfig> & { name: string };
    return {
      stream: () => jsm.streams.add(config),
      live: () => kvm.create(names.live, { ...bucket, ttl: LEASE_MS }),
      state: () => kvm.create(names.state, bucket),
      snapshots: () => new obj.Objm(js).create(names.snapshots, { replicas }),
    };
  }
}

type Makers = Readonly<Record<(typeof PARTS)[number], () => Promise<unknown>>>;
const PARTS = ['stream', 'live', 'state', 'snapshots'] as const;

/** Another process may have made it in between. */
async function again(make: () => Promise<unknown>): Promise<void> {
  try {
    await make();
  } catch (error) {
    if (apiCodeOf(error) !== NAME_IN_USE) throw error;
    await make();
  }
}
