/**
 * Publishes that this host listens, and accounts for the times in which it did not: either another receiver shows that it
 * has listened all the time, or a `missed` row goes to every mirror (docs/architecture.md#several-machines).
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { Missed } from '../core/input.ts';
import type { Engine } from './engine.ts';
import { goneBody, heartbeatBody, type HeartbeatMessage } from './heartbeat.ts';
import type { Hosts } from './hosts.ts';
import type { OwnHost } from './own-host.ts';

interface HeartbeatsDeps {
  readonly host: Pick<OwnHost, 'coverage' | 'hostId' | 'isStoring' | 'look' | 'now'>;
  readonly engine: Promise<Engine>;
  readonly hosts: Pick<Hosts, 'present'>;
  readonly publisher: {
    readonly streamSeq: number;
    beginLog(lastSeq: number): void;
  };
  /** Age of the oldest row that is not in the stream; 0 if there is none. */
  readonly backlogMs: () => number;
  /** Resolves once a row about this time is in the stream. */
  readonly publishMissed: (missed: Missed, signal: AbortSignal) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

const EVERY_MS = 1_000;
/** How often a start is published before no receiver is expected to answer. */
const STARTS = 3;
const START_EVERY_MS = 1_000;
/** Longer than a start waits for its answer. */
const ANSWERED_FOR_MS = 10_000;
const LEAVING_MS = 500;

const startSchema = z.object({ id: z.string() });

const readStart = (body: Uint8Array): string =>
  startSchema.parse(JSON.parse(Buffer.from(body).toString())).id;

const startBody = (id: string): Uint8Array => Buffer.from(JSON.stringify({ id }));

interface HeardStart {
  readonly id: string;
  readonly atMs: number;
}

export class Heartbeats {
  readonly #deps: HeartbeatsDeps;
  readonly #starts = new Map<string, HeardStart>();
  #wake = Promise.withResolvers<void>();
  #isClosed = false;
  #ownStart = { id: '', answered: Promise.withResolvers<true>() };
  /** null before the first heartbeat. */
  #logId: string | null = null;
  /** Monotonic; when the last heartbeat was sent that the servers have stored. Before the first, no other host knows this one. */
  storedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: HeartbeatsDeps) {
    this.#deps = deps;
  }

  /** Another host has published that its port is open, and waits for an answer. */
  started(hostId: string, body: Uint8Array): void {
    const { host } = this.#deps;
    if (hostId === host.hostId) return;
    const id = readStart(body);
    const isKnown = this.#starts.get(hostId)?.id === id;
    this.#starts.set(hostId, { id, atMs: host.now() });
    if (!isKnown) this.#wake.resolve();
  }

  /** Another host has published a heartbeat. */
  heard({ starts }: HeartbeatMessage): void {
    if (starts[this.#deps.host.hostId] === this.#ownStart.id) this.#ownStart.answered.resolve(true);
  }

  async run(signal: AbortSignal): Promise<void> {
    const engine = await this.#deps.engine;
    while (!signal.aborted && !this.#isClosed) {
      this.#wake = Promise.withResolvers();
      try {
        this.#deps.host.look();
        if (this.#deps.host.isStoring) await this.#vouch(engine, signal);
      } catch (error) {
        if (!signal.aborted) this.#deps.onError(error);
      }
      const pause = wait(EVERY_MS, undefined, { ref: false, signal }).catch(() => undefined);
      await Promise.race([pause, this.#wake.promise]);
    }
  }

  /** Call it before the port closes: no start is answered from then on. */
  close(): void {
    this.#isClosed = true;
    this.#wake.resolve();
  }

  /** Call it once nothing waits to be published: no mirror waits for this host any more. */
  async leave(): Promise<void> {
    this.close();
    if (!this.#isCovered || this.#logId === null) return;
    const { host, publisher, engine, onError } = this.#deps;
    const published = engine
      .then((each) => each.publish(`heartbeat.${host.hostId}`, goneBody(publisher.streamSeq)))
      .catch(onError);
    await Promise.race([published, wait(LEAVING_MS, undefined, { ref: false })]);
  }

  /** Its heartbeats are published. */
  get isVouching(): boolean {
    return this.#isCovered && this.#logId !== null && !this.#isClosed;
  }

  /** Everything that a receiver could receive until now is stored here, or by another one, or its loss is in the stream. */
  get #isCovered(): boolean {
    return this.#deps.host.coverage.unsure === null && this.#deps.host.isStoring;
  }

  async #vouch(engine: Engine, signal: AbortSignal): Promise<void> {
    const { unsure } = this.#deps.host.coverage;
    if (unsure !== null) await this.#settle(engine, unsure, signal);
    await this.#lookAtLog(engine);
    // A standstill that is noticed only now must not be denied.
    this.#deps.host.look();
    if (!this.#isCovered || this.#isClosed) return;
    await this.#publish(engine);
  }

  /**
   * The number of this host's last message counts only in the log that has it. A new run does not know it, and must not
   * tell mirrors a lower one.
   */
  async #lookAtLog(engine: Engine): Promise<void> {
    const { id, lastSeq } = await engine.log();
    const { publisher } = this.#deps;
    if (this.#logId === null) publisher.beginLog(Math.max(lastSeq, publisher.streamSeq));
    else if (id !== this.#logId) publisher.beginLog(lastSeq);
    this.#logId = id;
  }

  async #publish(engine: Engine): Promise<void> {
    const { host, publisher, backlogMs } = this.#deps;
    const sinceMs = host.now() - ANSWERED_FOR_MS;
    for (const [hostId, { atMs }] of this.#starts) if (atMs < sinceMs) this.#starts.delete(hostId);
    const body = heartbeatBody({
      backlog_ms: backlogMs(),
      stream_seq: publisher.streamSeq,
      is_gone: false,
      starts: Object.fromEntries([...this.#starts].map(([hostId, { id }]) => [hostId, id])),
    });
    const sentAtMs = performance.now();
    await engine.publish(`heartbeat.${host.hostId}`, body);
    this.storedAtMs = sentAtMs;
  }

  /**
   * Finds out whether another receiver listened in the unsure time. A receiver that answers a start was listening after
   * the port of this host was open, and everything that no receiver may have received before is in the stream. No clock is
   * involved, and a receiver that dies meanwhile does not answer.
   */
  async #settle(engine: Engine, unsure: Missed, signal: AbortSignal): Promise<void> {
    const { host, hosts, publishMissed } = this.#deps;
    const others = hosts.present.filter((hostId) => hostId !== host.hostId);
    await engine.prepare();
    if (others.length === 0 || !(await this.#isAnswered(engine, signal))) {
      const why = others.length === 0 ? unsure.why : 'stream_gap';
      await publishMissed({ ...unsure, why, untilMs: Date.now() }, signal);
    }
    host.coverage.sure(unsure);
  }

  async #isAnswered(engine: Engine, signal: AbortSignal): Promise<boolean> {
    this.#ownStart = { id: randomBytes(8).toString('hex'), answered: Promise.withResolvers() };
    const { id, answered } = this.#ownStart;
    for (let published = 0; published < STARTS; published += 1) {
      await engine.publish(`start.${this.#deps.host.hostId}`, startBody(id));
      const pause = wait(START_EVERY_MS, false, { ref: false, signal });
      if (await Promise.race([answered.promise, pause])) return true;
    }
    return false;
  }
}
