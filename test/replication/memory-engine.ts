/** An engine in memory, for several processes in one, with failures that a test switches. On real time. */
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { encodeEpoch } from '../../src/event-log/encode-epoch.ts';
import { rest } from '../../src/platform/sleep.ts';
import {
  LEASE_MS,
  CannotFollow,
  TransportError,
  type Batch,
  type Engine,
  type EngineFinding,
  type Lease,
  type Notes,
  type Publication,
  type Published,
  type SnapshotFiles,
  type Standing,
} from '../../src/replication/transport.ts';

interface Message extends Publication {
  readonly position: number;
  /** Never given out twice, whatever is lost. */
  readonly stamp: number;
}

/** How far a log has copied the stream. */
interface Cursor {
  readonly position: number;
  readonly stamp: number;
  readonly baseStamp: number;
}

interface Base {
  readonly message: Message;
  readonly after: Pick<Standing, 'epoch' | 'lastSeq'>;
}

type LeadStanding = Parameters<Engine['keepHistory']>[0];
type AboutSnapshot = Parameters<Engine['putSnapshot']>[1];

const ROWS_AT_ONCE = 64;
const LOOK_EVERY_MS = 5;
const SIGN_EVERY_MS = 1_000;

/** What all processes reach: for a test to look at, and to spoil. */
export class MemoryCluster {
  messages: Message[] = [];
  base: Base | null = null;
  readonly presence = new MemoryNotes(LEASE_MS);
  readonly state = new MemoryNotes(Number.POSITIVE_INFINITY);
  lease: { readonly revision: number; readonly untilMs: number } | null = null;
  snapshot: (SnapshotFiles & AboutSnapshot) | null = null;
  /** How many were put. */
  snapshots = 0;
  readonly #folder: string;
  readonly #unreachable = new Set<string>();
  #stamp = 0;

  /** @param folder for snapshots. */
  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** @param node by whom it is used. */
  engine(node = 'test'): Engine {
    return new MemoryEngine(this, node);
  }

  cutOff(...nodes: readonly string[]): void {
    for (const node of nodes) this.#unreachable.add(node);
  }

  reconnect(): void {
    this.#unreachable.clear();
  }

  /** @throws TransportError */
  async reach(node: string): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#unreachable.has(node)) throw new TransportError('memory cannot be reached');
  }

  append({ id, row }: Publication): Published {
    const known = this.messages.find((message) => message.id === id);
    const message = known ?? {
      id,
      row: { ...row, payload: new Uint8Array(row.payload) },
      position: (this.messages.at(-1)?.position ?? 0) + 1,
      stamp: (this.#stamp += 1),
    };
    if (known === undefined) this.messages.push(message);
    const { position, stamp } = message;
    return { position, receipt: { position, stamp } };
  }

  /** It forgets what it has acknowledged last, and gives the positions out again. */
  lose(count: number): void {
    this.messages.splice(-count);
    if (this.base !== null && !this.messages.includes(this.base.message)) this.base = null;
  }

  loseAll(): void {
    this.messages = [];
    this.base = null;
    this.snapshot = null;
    this.lease = null;
    this.presence.clear();
    this.state.clear();
  }

  keepFiles(files: SnapshotFiles, about: AboutSnapshot): void {
    this.snapshots += 1;
    const mirror = join(this.#folder, `${this.snapshots}.db`);
    const log = join(this.#folder, `${this.snapshots}.log.db`);
    copyFileSync(files.mirror, mirror);
    copyFileSync(files.log, log);
    this.snapshot = { mirror, log, ...about };
  }

  /** What was stored before and may be in nobody's log comes again after it: deliveries. */
  begin({ epoch: epochBefore, lastSeq, changeSeq, nowMs }: LeadStanding): void {
    const epoch = randomBytes(8).toString('hex');
    const entry = encodeEpoch({
      kind: 'epoch',
      atMs: nowMs,
      givenOutSeq: changeSeq,
      epoch,
      reachedFrom: { low: 0, high: lastSeq },
    });
    const before = this.messages.splice(0);
    const position = (before.at(-1)?.position ?? 0) + 1;
    const row = { ...entry, seq: lastSeq + 1 };
    const message = { id: epoch, row, position, stamp: (this.#stamp += 1) };
    this.messages.push(message);
    this.base = { message, after: { epoch: epochBefore, lastSeq } };
    for (const { id, row: again } of before) {
      if (again.kind === 'delivery') this.append({ id: `${id}-${position}`, row: again });
    }
  }

  /** Where a log goes on; `lost`: a lead begins a new history; `other`: it needs a snapshot. */
  placeOf({ epoch, lastSeq, cursor }: Standing): number | 'lost' | 'other' {
    const { base } = this;
    if (base === null) return 'lost';
    const at = cursor as Cursor | null;
    const first = this.messages.indexOf(base.message);
    const found = this.messages.findIndex(({ stamp }) => stamp === at?.stamp);
    if (found >= first) return found + 1;
    const { after } = base;
    const isNew = lastSeq === 0 && after.lastSeq === 0;
    if (isNew || (after.epoch === epoch && after.lastSeq === lastSeq)) return first;
    return at !== null && base.message.stamp <= at.baseStamp ? 'lost' : 'other';
  }
}

class MemoryEngine implements Engine {
  readonly name = 'memory';
  readonly lease: Lease;
  readonly presence: Notes;
  readonly state: Notes;
  readonly #cluster: MemoryCluster;
  readonly #reach: () => Promise<void>;

  constructor(cluster: MemoryCluster, node: string) {
    this.#cluster = cluster;
    this.#reach = () => cluster.reach(node);
    this.lease = new MemoryLease(cluster, this.#reach);
    this.presence = cluster.presence.reachedBy(this.#reach);
    this.state = cluster.state.reachedBy(this.#reach);
  }

  async publish(publication: Publication): Promise<Published> {
    await this.#reach();
    return this.#cluster.append(publication);
  }

  async isKept(receipt: unknown): Promise<boolean> {
    await this.#reach();
    const { messages, base } = this.#cluster;
    const { position, stamp } = receipt as Cursor;
    if (base !== null && stamp < base.message.stamp && position < base.message.position) return true;
    return messages.some((message) => message.position === position && message.stamp === stamp);
  }

  async *follow(from: Standing, signal: AbortSignal): AsyncGenerator<Batch> {
    let standing = from;
    let saidMs = Number.NEGATIVE_INFINITY;
    let isFirst = true;
    while (!signal.aborted) {
      if (!isFirst) await rest(LOOK_EVERY_MS, signal);
      isFirst = false;
      await this.#reach();
      const place = this.#cluster.placeOf(standing);
      if (place === 'lost') throw new CannotFollow('memory has lost entries', 'history');
      if (place === 'other') throw new CannotFollow('memory has another history', 'snapshot');
      const { messages, base } = this.#cluster;
      const taken = upToPruned(messages.slice(place, place + ROWS_AT_ONCE));
      const last = taken.at(-1);
      if (last === undefined && performance.now() - saidMs < SIGN_EVERY_MS) continue;
      saidMs = performance.now();
      const cursor =
        last === undefined
          ? standing.cursor
          : { position: last.position, stamp: last.stamp, baseStamp: base?.message.stamp ?? 0 };
      standing = { ...standing, cursor };
      yield {
        rows: taken.map(({ row }) => row),
        positions: taken.map(({ position }) => position),
        cursor,
        firstSeq: null,
        left: messages.length - place - taken.length,
        isLive: true,
      };
    }
  }

  async keepHistory(from: LeadStanding): Promise<boolean> {
    await this.#reach();
    const isLost = this.#cluster.placeOf(from) === 'lost';
    if (isLost) this.#cluster.begin(from);
    return isLost;
  }

  async getSnapshot(into: SnapshotFiles): Promise<boolean> {
    await this.#reach();
    const { snapshot } = this.#cluster;
    if (snapshot === null) return false;
    copyFileSync(snapshot.mirror, into.mirror);
    copyFileSync(snapshot.log, into.log);
    return true;
  }

  async putSnapshot(files: SnapshotFiles, about: AboutSnapshot): Promise<void> {
    await this.#reach();
    this.#cluster.keepFiles(files, about);
  }

  async inspect(): Promise<readonly EngineFinding[]> {
    await this.#reach();
    return [];
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Where `pruned` is not the first, it is left to the next batch. */
function upToPruned(messages: readonly Message[]): readonly Message[] {
  const next = messages.findIndex(({ row }, i) => i > 0 && row.kind === 'pruned');
  return next < 0 ? messages : messages.slice(0, next);
}

class MemoryLease implements Lease {
  readonly #cluster: MemoryCluster;
  readonly #reach: () => Promise<void>;

  constructor(cluster: MemoryCluster, reach: () => Promise<void>) {
    this.#cluster = cluster;
    this.#reach = reach;
  }

  async take(): Promise<number | null> {
    return (await this.#held()) === null ? this.#hold() : null;
  }

  async renew(_: string, revision: number): Promise<number | null> {
    return (await this.#held())?.revision === revision ? this.#hold() : null;
  }

  async release(revision: number): Promise<void> {
    if ((await this.#held())?.revision === revision) this.#cluster.lease = null;
  }

  async #held() {
    await this.#reach();
    const { lease } = this.#cluster;
    return lease !== null && lease.untilMs > performance.now() ? lease : null;
  }

  #hold(): number {
    const revision = (this.#cluster.lease?.revision ?? 0) + 1;
    this.#cluster.lease = { revision, untilMs: performance.now() + LEASE_MS };
    return revision;
  }
}

class MemoryNotes {
  readonly #ttlMs: number;
  readonly #notes = new Map<string, { readonly json: string; readonly untilMs: number }>();

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  clear(): void {
    this.#notes.clear();
  }

  get(key: string): unknown {
    const note = this.#notes.get(key);
    return note === undefined || note.untilMs <= performance.now() ? null : JSON.parse(note.json);
  }

  put(key: string, value: unknown): void {
    this.#notes.set(key, { json: JSON.stringify(value), untilMs: performance.now() + this.#ttlMs });
  }

  reachedBy(reach: () => Promise<void>): Notes {
    const list = (prefix: string): Map<string, unknown> => {
      const keys = [...this.#notes.keys()].filter((key) => key.startsWith(prefix));
      const values = keys.map((key): [string, unknown] => [key, this.get(key)]);
      return new Map(values.filter(([, value]) => value !== null));
    };
    return {
      get: (key) => reach().then(() => this.get(key)),
      put: (key, value) => reach().then(() => this.put(key, value)),
      list: (prefix) => reach().then(() => list(prefix)),
      delete: (key) => reach().then(() => void this.#notes.delete(key)),
    };
  }
}
