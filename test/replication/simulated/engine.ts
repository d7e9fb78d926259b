/** The way from one process to the engine, which takes time, fails, and fails after the engine has done what was asked. */
import { readFileSync, writeFileSync } from 'node:fs';
import { RULES_VERSION } from '../../../src/core/rules-version.ts';
import { orAborted } from '../../../src/platform/or-aborted.ts';
import {
  isFollowable,
  LOOK_EVERY_MS,
  LOST_FOR_MS,
  newBase,
  startOf,
} from '../../../src/replication/nats/consequences.ts';
import { readCursor, type Cursor, type StreamState } from '../../../src/replication/nats/history.ts';
import {
  TransportError,
  type Batch,
  type Engine,
  type EngineFinding,
  type LeadStanding,
  type Lease,
  type Notes,
  type Publication,
  type Published,
  type SnapshotFiles,
  type Standing,
} from '../../../src/replication/transport.ts';
import type { Broker, Receipt } from './broker.ts';

/** Of one machine, over all its processes. */
export interface Way {
  /** Nothing comes through. */
  isCut: boolean;
  /** How likely an answer gets lost: the request has taken effect, or has not. */
  lossShare: number;
  /** At most, in each direction. */
  wayMs: number;
  /** How long an answer is waited for. */
  readonly timeoutMs: number;
}

interface EngineDeps {
  /** Of the process that uses it. */
  readonly time: { readonly nowMs: number; sleep(ms: number): Promise<void> };
  readonly broker: Broker;
  readonly way: Way;
  readonly random: () => number;
  readonly count: (what: string) => void;
}

const BROKEN = 'the connection to the engine was broken';
const SIGN_OF_LIFE_MS = 1_000;
const ROWS_AT_ONCE = 50;

export class SimulatedEngine implements Engine {
  readonly name = 'simulated engine';
  readonly lease: Lease;
  readonly presence: Notes;
  readonly state: Notes;
  readonly #deps: EngineDeps;
  /** What one connection sends arrives in its order. */
  #lastArrivalMs = 0;
  #connection: number;
  /** The highest number known; what is sent later has a higher one. */
  #highest = 0;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    const { broker } = deps;
    this.#connection = broker.connections;
    this.lease = {
      take: (holder) => this.#ask(() => broker.take(holder)),
      renew: (holder, revision) => this.#ask(() => broker.renew(holder, revision)),
      release: (revision) => this.#ask(() => broker.release(revision)),
    };
    this.presence = this.#notes('presence');
    this.state = this.#notes('state');
  }

  async publish(publication: Publication): Promise<Published> {
    const sentAfter = this.#highest;
    const { receipt, isDuplicate } = await this.#ask(() => this.#deps.broker.publish(publication));
    const { seq } = receipt;
    if (!isDuplicate && seq <= sentAfter) {
      this.#highest = 0;
      throw new TransportError(`the engine has lost entries: it gave number ${seq} out again`);
    }
    this.#highest = Math.max(this.#highest, seq);
    return { position: seq, receipt };
  }

  isKept(receipt: unknown): Promise<boolean> {
    return this.#ask(() => this.#deps.broker.isKept(receipt as Receipt));
  }

  async *follow(from: Standing, signal: AbortSignal): AsyncGenerator<Batch> {
    const { time, broker } = this.#deps;
    const { start, created, connections } = await this.#ask(() => ({
      start: startOf(from, broker.stateFor(readCursor(from.cursor)), RULES_VERSION),
      created: broker.created,
      connections: broker.connections,
    }));
    let { baseAt } = start;
    let seq = start.seq - 1;
    let cursor: unknown = from.cursor;
    while (!signal.aborted) {
      const { messages, left } = await this.#ask(() => {
        // Also where another request was told of it already: what was copied may be lost, and its numbers given out again.
        if (broker.connections !== connections) throw new TransportError(BROKEN);
        return this.#portion(seq, baseAt);
      });
      const last = messages.at(-1);
      if (last !== undefined) {
        ({ seq } = last);
        if (last.after !== null) baseAt = last.storedAt;
        cursor = { created, seq, storedAt: last.storedAt, baseAt } satisfies Cursor;
      }
      yield {
        rows: messages.map(({ row }) => structuredClone(row)),
        positions: messages.map((message) => message.seq),
        cursor,
        firstSeq: null,
        left,
        isLive: true,
      };
      if (left > 0 || signal.aborted) continue;
      await orAborted(Promise.race([broker.news, time.sleep(SIGN_OF_LIFE_MS)]), signal);
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

  async keepHistory(from: LeadStanding): Promise<boolean> {
    const { time, broker, random } = this.#deps;
    const at = readCursor(from.cursor);
    const look = (): Promise<StreamState> => this.#ask(() => broker.stateFor(at));
    let state = await look();
    // Held to be lost when it is missing for so long.
    const untilMs = time.nowMs + LOST_FOR_MS;
    while (at !== null && !isFollowable(from, state, RULES_VERSION) && time.nowMs < untilMs) {
      await time.sleep(LOOK_EVERY_MS);
      state = await look();
    }
    const { base } = state;
    if (isFollowable(from, state, RULES_VERSION)) {
      if (base !== null && state.firstSeq < base.seq) await this.#ask(() => broker.finish(base));
      return false;
    }
    const epoch = Math.floor(random() * 2 ** 48).toString(16);
    const { row, after } = newBase(from, { epoch, rules: RULES_VERSION });
    const hasBegun = await this.#ask(() => broker.begin(row, after, base?.seq ?? 0));
    if (!hasBegun) return false;
    await this.#ask(() => {
      if (broker.base !== null) broker.finish(broker.base);
    });
    return true;
  }

  inspect(): Promise<readonly EngineFinding[]> {
    return Promise.resolve([]);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** A `pruned` row is the first of its portion, and another history is looked at from where the log then stands. */
  #portion(seq: number, baseAt: string): ReturnType<Broker['after']> {
    const { messages, left } = this.#deps.broker.after(seq, ROWS_AT_ONCE);
    const [first] = messages;
    if (first !== undefined && first.seq !== seq + 1) throw new TransportError('messages were purged');
    const end = messages.findIndex(
      ({ row, after, storedAt }, i) =>
        (i > 0 && row.kind === 'pruned') || (after !== null && storedAt !== baseAt),
    );
    if (end < 0) return { messages, left };
    if (end === 0) throw new TransportError('a new history has begun in the engine: it is looked at again');
    return { messages: messages.slice(0, end), left: left + messages.length - end };
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
    const { time, way, random, broker, count } = this.#deps;
    const onWay = (): number => 0.2 + random() * way.wayMs;
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, time.nowMs + onWay());
    const isBroken = random() < way.lossShare;
    const isDoneAllTheSame = random() < 0.5;
    await time.sleep(this.#lastArrivalMs - time.nowMs);
    if (way.isCut || (isBroken && !isDoneAllTheSame)) return this.#timeout();
    if (this.#connection !== broker.connections) {
      this.#connection = broker.connections;
      throw new TransportError(BROKEN);
    }
    const found = effect();
    await time.sleep(onWay());
    if (!way.isCut && !isBroken) return found;
    count('took effect, and was not answered');
    return this.#timeout();
  }

  async #timeout(): Promise<never> {
    const { time, way } = this.#deps;
    await time.sleep(way.timeoutMs);
    throw new TransportError('the engine does not answer');
  }
}
