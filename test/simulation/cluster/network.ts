/** The way from one process to the engine, which takes time, fails, and fails after the engine has done what was asked. */
import { readFileSync, writeFileSync } from 'node:fs';
import { encodeEpoch } from '../../../src/event-log/encode-epoch.ts';
import {
  SnapshotNeeded,
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
} from '../../../src/replication/transport.ts';
import { goesOnWith, type Broker, type Spot } from './broker.ts';
import type { Life, VirtualTime } from '../virtual-time.ts';

/** Of one machine, over all its processes. */
export interface Way {
  /** Nothing comes through. */
  isCut: boolean;
  /** How likely an answer gets lost: the request has taken effect, or has not. */
  lossShare: number;
  /** At most, in each direction. */
  wayMs: number;
}

interface ClientDeps {
  readonly time: VirtualTime;
  readonly life: Life;
  readonly broker: Broker;
  readonly way: Way;
  readonly random: () => number;
  readonly count: (what: string) => void;
  /** Told of each base that this process begins. */
  readonly onBegin?: (base: { readonly epoch: string; readonly seq: number }) => void;
}

const TIMEOUT_MS = 3_000;
const SIGN_OF_LIFE_MS = 1_000;
const ROWS_AT_ONCE = 50;
/** A new history's numbers are so far above those given out, whoever else has given out some. */
const NUMBERS_APART = 1_000;

export class SimulatedEngine implements Engine {
  readonly name = 'simulated engine';
  readonly lease: Lease;
  readonly presence: Notes;
  readonly state: Notes;
  readonly #deps: ClientDeps;
  /** Publications of one connection arrive in their order. */
  #lastArrivalMs = 0;
  #connection: number;
  /** That this process has published into last. */
  #generation: number | null = null;

  constructor(deps: ClientDeps) {
    this.#deps = deps;
    const { broker } = deps;
    this.#connection = broker.connections;
    this.lease = {
      take: (holder) => this.#ask(() => broker.take(holder)),
      renew: (holder, revision) => this.#ask(() => broker.renew(holder, revision)),
      release: (revision) => this.#ask(() => broker.release(revision)),
      holder: () => this.#ask(() => broker.holder()),
    };
    this.presence = this.#notes('presence');
    this.state = this.#notes('state');
  }

  async publish(publication: Publication): Promise<Published> {
    const { broker } = this.#deps;
    const { spot, isDuplicate } = await this.#ask(() => {
      const found = broker.publish(publication);
      if (found === null) throw new TransportError('the engine has no history yet');
      return found;
    });
    const before = this.#generation;
    this.#generation = spot.generation;
    if (before !== null && before !== spot.generation) throw new TransportError('another history has begun');
    return { position: spot.position, isDuplicate, receipt: spot };
  }

  isKept(receipt: unknown): Promise<boolean> {
    return this.#ask(() => this.#deps.broker.holds(receipt as Spot));
  }

  async *follow(from: Standing, signal: AbortSignal): AsyncGenerator<Batch> {
    const { time, life, broker } = this.#deps;
    let at = await this.#ask(() => this.#start(from));
    const { generation } = at;
    while (!signal.aborted) {
      const found = await this.#ask(() => {
        const { base } = broker;
        if (base === null || base.base.generation !== generation) return null;
        // The base itself is a place to go on from only after it has been taken.
        if (at.id !== '' && !broker.holds(at)) throw lost();
        return portion(broker.after(at.position, ROWS_AT_ONCE));
      });
      // Another history has begun: whether this log goes on with it depends on where it stands by now.
      if (found === null) return;
      const { messages, left } = found;
      const last = messages.at(-1);
      if (last !== undefined) at = { generation, position: last.position, id: last.id };
      yield {
        rows: messages.map(({ row }) => structuredClone(row)),
        positions: messages.map(({ position }) => position),
        cursor: at.id === '' ? from.cursor : at,
        firstSeq: null,
        left,
        isLive: true,
      };
      if (left > 0 || signal.aborted) continue;
      await Promise.race([broker.news, time.sleep(SIGN_OF_LIFE_MS, life)]);
    }
  }

  async getSnapshot({ mirror, log }: SnapshotFiles): Promise<boolean> {
    const snapshot = await this.#ask(() => this.#deps.broker.snapshot);
    if (snapshot === null) return false;
    writeFileSync(mirror, snapshot.mirror);
    writeFileSync(log, snapshot.log);
    return true;
  }

  async putSnapshot({ mirror, log }: SnapshotFiles): Promise<void> {
    const snapshot = { mirror: readFileSync(mirror), log: readFileSync(log) };
    await this.#ask(() => (this.#deps.broker.snapshot = snapshot));
  }

  async keepHistory({
    changeSeq,
    nowMs,
    ...standing
  }: Parameters<Engine['keepHistory']>[0]): Promise<boolean> {
    const { broker, random, onBegin = () => undefined } = this.#deps;
    const seen = await this.#ask(() => ({
      lastPosition: broker.lastPosition,
      generation: broker.base?.base.generation ?? 0,
      isKept: broker.base !== null && !isAhead(standing, broker),
    }));
    if (seen.isKept) return false;
    const { epoch: epochBefore, lastSeq } = standing;
    const epoch = Math.floor(random() * 2 ** 48).toString(16);
    const seq = lastSeq === 0 ? 1 : lastSeq + NUMBERS_APART;
    const { detail: _, ...entry } = encodeEpoch({
      kind: 'epoch',
      atMs: nowMs,
      givenOutSeq: lastSeq === 0 ? 0 : changeSeq + NUMBERS_APART,
      epoch,
      reachedFrom: { low: 0, high: lastSeq },
    });
    const base = {
      after: { epoch: epochBefore, lastSeq },
      generation: Math.max(seen.generation, generationOf(standing)) + 1,
    };
    return this.#ask(() => {
      const hasBegun = broker.begin({ seq, detail: null, ...entry }, base, seen.lastPosition);
      if (hasBegun) onBegin({ epoch, seq });
      return hasBegun;
    });
  }

  inspect(): Promise<readonly EngineFinding[]> {
    return Promise.resolve([]);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** @throws SnapshotNeeded, TransportError */
  #start(from: Standing): Spot {
    const { base } = this.#deps.broker;
    if (base === null) throw lost();
    const { generation } = base.base;
    if (from.cursor !== null && generationOf(from) === generation) {
      if (!this.#deps.broker.holds(from.cursor as Spot)) throw lost();
      return from.cursor as Spot;
    }
    if (generationOf(from) > generation) throw lost();
    if (!goesOnWith(base.base, from)) {
      throw new SnapshotNeeded('the history goes on from elsewhere than this log stands', { isLost: false });
    }
    return { generation, position: base.position - 1, id: '' };
  }

  #notes(of: 'presence' | 'state'): Notes {
    const { broker } = this.#deps;
    return {
      get: (key) => this.#ask(() => broker.noted(of, key)),
      put: (key, value) => this.#ask(() => broker.note(of, key, value)),
      list: (prefix) => this.#ask(() => broker.list(of, prefix)),
      delete: (key) => this.#ask(() => broker.forget(of, key)),
    };
  }

  /** @throws TransportError */
  async #ask<T>(effect: () => T): Promise<T> {
    const { time, life, way, random, broker, count } = this.#deps;
    const onWay = (): number => 0.2 + random() * way.wayMs;
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, time.nowMs + onWay());
    const isBroken = random() < way.lossShare;
    const isDoneAllTheSame = random() < 0.5;
    await time.sleep(this.#lastArrivalMs - time.nowMs, life);
    if (way.isCut || (isBroken && !isDoneAllTheSame)) return this.#timeout();
    if (this.#connection !== broker.connections) {
      this.#connection = broker.connections;
      throw new TransportError('the connection to the engine was broken');
    }
    const found = effect();
    await time.sleep(onWay(), life);
    if (!way.isCut && !isBroken) return found;
    count('took effect, and was not answered');
    return this.#timeout();
  }

  async #timeout(): Promise<never> {
    await this.#deps.time.sleep(TIMEOUT_MS, this.#deps.life);
    throw new TransportError('the engine does not answer');
  }
}

type Portion = ReturnType<Broker['after']>;

/** A `pruned` row is the first of its batch. */
function portion({ messages, left }: Portion): Portion {
  const end = messages.findIndex(({ row }, i) => i > 0 && row.kind === 'pruned');
  return end < 0
    ? { messages, left }
    : { messages: messages.slice(0, end), left: left + messages.length - end };
}

function generationOf({ cursor }: Pick<Standing, 'cursor'>): number {
  return (cursor as Spot | null)?.generation ?? 0;
}

/** The log has what this history has lost. */
function isAhead(standing: Standing, broker: Broker): boolean {
  const generation = broker.base?.base.generation ?? 0;
  if (generationOf(standing) !== generation) return generationOf(standing) > generation;
  return !broker.holds(standing.cursor as Spot);
}

/** No lead has begun anew yet what the engine has lost. */
function lost(): SnapshotNeeded {
  return new SnapshotNeeded('the engine has lost what this log has', { isLost: true });
}
