/**
 * Publishes that this host listens, and accounts for the times in which it did not: either another receiver shows that it
 * has listened all the time, or a `missed` row goes to every mirror (docs/architecture.md#several-machines).
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { missedBody, type Missed } from '../inbox/missed.ts';
import type { Engine, LastMessage } from './engine.ts';
import type { OwnHost } from './own-host.ts';

interface HeartbeatsDeps {
  readonly host: Pick<OwnHost, 'append' | 'coverage' | 'hostId' | 'isStoring' | 'lastSeq' | 'look'>;
  readonly engine: Promise<Engine>;
  readonly publisher: {
    /** Every row up to this one is in the stream. */
    readonly publishedSeq: number;
    readonly streamSeq: number;
    beginLog(lastSeq: number): void;
  };
  /** Age of the oldest row that is not in the stream; 0 if there is none. */
  readonly backlogMs: () => number;
  readonly onMissed: (missed: Missed) => void;
  readonly onError: (error: unknown) => void;
}

const EVERY_MS = 1_000;
/** A receiver whose last heartbeat is older is not waited for. */
const SILENT_MS = 15_000;
/** How long another receiver may take to answer a start. */
const ANSWER_MS = 3_000;
const POLL_MS = 100;
const CLOSING_MS = 500;

const heartbeatSchema = z.object({
  backlog_ms: z.number(),
  /** No message that this host has published has a higher number; 0 if none is known. */
  stream_seq: z.number(),
  /** The port is about to close. */
  is_closed: z.boolean(),
  /**
   * The last start heard of each other host. The sender was listening when it heard of it, and everything that no receiver
   * may have received before is in the stream.
   */
  starts: z.record(z.string(), z.string()),
});

export type HeartbeatMessage = z.infer<typeof heartbeatSchema>;

export const readHeartbeat = (body: Uint8Array): HeartbeatMessage =>
  heartbeatSchema.parse(JSON.parse(Buffer.from(body).toString()));

const startSchema = z.object({ id: z.string() });

const readStart = (body: Uint8Array): string =>
  startSchema.parse(JSON.parse(Buffer.from(body).toString())).id;

const jsonOf = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));

export class Heartbeats {
  readonly #deps: HeartbeatsDeps;
  readonly #starts = new Map<string, string>();
  #wake = Promise.withResolvers<void>();
  #isClosed = false;

  /** null before the first heartbeat. */
  #logId: string | null = null;

  constructor(deps: HeartbeatsDeps) {
    this.#deps = deps;
  }

  /** Another host has published that its port is open, and waits for an answer. */
  started(hostId: string, body: Uint8Array): void {
    if (hostId === this.#deps.host.hostId) return;
    this.#starts.set(hostId, readStart(body));
    this.#wake.resolve();
  }

  async run(signal: AbortSignal): Promise<void> {
    const engine = await this.#deps.engine;
    let knowsStarts = false;
    while (!signal.aborted && !this.#isClosed) {
      this.#wake = Promise.withResolvers();
      try {
        if (!knowsStarts) await this.#findStarts(engine);
        knowsStarts = true;
        this.#deps.host.look();
        if (this.#deps.host.isStoring) await this.#vouch(engine, signal);
      } catch (error) {
        if (!signal.aborted) this.#deps.onError(error);
      }
      const pause = wait(EVERY_MS, undefined, { ref: false, signal }).catch(() => undefined);
      await Promise.race([pause, this.#wake.promise]);
    }
  }

  /** The number of the inbox's first row, which is about the first start; 0 before it is written. */
  get #firstRow(): number {
    return Math.min(1, this.#deps.host.lastSeq);
  }

  /** Call it before the port closes: time that is not covered begins no later than the port closes. */
  async close(): Promise<void> {
    const { publisher } = this.#deps;
    const isCovered = this.#isCovered && publisher.publishedSeq >= this.#firstRow;
    this.#isClosed = true;
    this.#wake.resolve();
    if (!isCovered) return;
    const published = this.#deps.engine
      .then((engine) => this.#publish(engine, true))
      .catch(this.#deps.onError);
    await Promise.race([published, wait(CLOSING_MS, undefined, { ref: false })]);
  }

  /** Starts that were published before this host could hear them. */
  async #findStarts(engine: Engine): Promise<void> {
    await engine.prepare();
    for (const { subject, body } of await engine.last('start.*')) {
      try {
        this.started(hostOf(subject), body);
      } catch (error) {
        this.#deps.onError(error);
      }
    }
  }

  /** Everything that a receiver could receive until now is stored here, or by another one, or its loss is in the stream. */
  get #isCovered(): boolean {
    return this.#deps.host.coverage.unsure === null && this.#deps.host.isStoring;
  }

  async #vouch(engine: Engine, signal: AbortSignal): Promise<void> {
    const { unsure } = this.#deps.host.coverage;
    if (unsure !== null) await this.#settle(engine, unsure, signal);
    await this.#untilPublished(this.#firstRow, signal);
    await this.#lookAtLog(engine);
    // A standstill that is noticed only now must not be denied.
    this.#deps.host.look();
    if (this.#isCovered && !this.#isClosed) await this.#publish(engine, false);
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

  async #publish(engine: Engine, isClosed: boolean): Promise<void> {
    const { host, publisher, backlogMs } = this.#deps;
    const heartbeat: HeartbeatMessage = {
      backlog_ms: backlogMs(),
      stream_seq: publisher.streamSeq,
      is_closed: isClosed,
      starts: Object.fromEntries(this.#starts),
    };
    await engine.publish(`heartbeat.${host.hostId}`, jsonOf(heartbeat));
  }

  /**
   * Finds out whether another receiver listened in the unsure time. A receiver that answers a start was listening after
   * the port of this host was open, and everything that no receiver may have received before is in the stream. No clock is
   * involved, and a receiver that dies meanwhile does not answer.
   */
  async #settle(engine: Engine, unsure: Missed, signal: AbortSignal): Promise<void> {
    const { host, onMissed } = this.#deps;
    await engine.prepare();
    const startId = randomBytes(8).toString('hex');
    await engine.publish(`start.${host.hostId}`, jsonOf({ id: startId }));
    const [start] = await engine.last(`start.${host.hostId}`);
    if (start === undefined) throw new Error('the stream has lost the message that it has just stored');
    const heartbeats = await this.#lastHeartbeats(engine);
    const others = heartbeats.filter(({ hostId }) => hostId !== host.hostId);
    const mayAnswer = others.some(({ atMs, isClosed }) => !isClosed && start.atMs - atMs < SILENT_MS);
    if (!mayAnswer || !(await this.#isAnswered(engine, startId, signal))) {
      const lastAtMs = heartbeats.length === 0 ? null : Math.max(...heartbeats.map(({ atMs }) => atMs));
      const untilMs = Date.now();
      const missed: Missed = {
        why: others.length === 0 ? unsure.why : 'stream_gap',
        sinceMs: lastAtMs === null ? unsure.sinceMs : untilMs - (start.atMs - lastAtMs),
        untilMs,
        variantIds: null,
      };
      await host.append([{ kind: 'missed', body: missedBody(missed) }], null);
      onMissed(missed);
      await this.#untilPublished(host.lastSeq, signal);
    }
    host.coverage.sure(unsure);
  }

  async #isAnswered(engine: Engine, startId: string, signal: AbortSignal): Promise<boolean> {
    const { hostId } = this.#deps.host;
    for (let waitedMs = 0; waitedMs < ANSWER_MS; waitedMs += POLL_MS) {
      await wait(POLL_MS, undefined, { ref: false, signal });
      const heartbeats = await this.#lastHeartbeats(engine);
      if (heartbeats.some(({ starts }) => starts[hostId] === startId)) return true;
    }
    return false;
  }

  /** A host whose heartbeat is not understood counts as one that does not listen: it must not hold up the others. */
  async #lastHeartbeats(engine: Engine) {
    return (await engine.last('heartbeat.*')).flatMap(({ subject, body, atMs }: LastMessage) => {
      try {
        const { is_closed: isClosed, starts } = readHeartbeat(body);
        return [{ hostId: hostOf(subject), atMs, isClosed, starts }];
      } catch (error) {
        this.#deps.onError(error);
        return [];
      }
    });
  }

  /** Before the first heartbeat, which ends the proof that something is missing: a kill in between must not hide it. */
  async #untilPublished(seq: number, signal: AbortSignal): Promise<void> {
    while (this.#deps.publisher.publishedSeq < seq) await wait(POLL_MS, undefined, { ref: false, signal });
  }
}

const hostOf = (subject: string): string => subject.slice(subject.indexOf('.') + 1);
