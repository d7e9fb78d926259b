/**
 * The half that must never fail: verifies webhooks, appends them to the inbox and answers once they are on
 * disk. It does not know the mirror, which learns everything from the inbox (docs/architecture.md#receiver).
 */
import type { StreamPosition } from '../inbox/inbox-file.ts';
import type { Missed } from '../core/input.ts';
import { isClockRight } from '../inbox/retention.ts';
import type { HostTime } from '../platform/host-time.ts';
import type { listen, Listener } from '../platform/listen.ts';
import { createLimitedLog, type Logger } from '../platform/log.ts';
import { OwnClock, READING_EVERY_MS } from '../platform/own-clock.ts';
import { plainError, type PlainError, type SqliteFault } from '../sqlite/errors.ts';
import { explained } from '../sqlite/explain.ts';
import { requestTimeMs } from '../store-api/request-time.ts';
import { variantIdsOf } from '../store-api/variant-ids.ts';
import type { NewRow, OwnHost } from '../stream/own-host.ts';
import type { Stream } from '../stream/stream.ts';
import { planCommit, type CommitPlan, type Waiting } from './commit-plan.ts';
import { Coverage, type Instant, type PassedSocket } from './coverage.ts';
import type { InboxWriter, ReceiverHeartbeat } from './inbox-writer.ts';
import { Reporting } from './reporting.ts';
import { createWebhookApp, type Health } from './webhook-app.ts';

export interface ReceiverEvents {
  /** Called after every commit that stored something. */
  readonly onCommit: () => void;
  /** Called when a commit fails, and with null when one succeeds after that. */
  readonly onTrouble: (error: PlainError | null) => void;
  /** Called when nothing can be stored any more: the process must end. */
  readonly onDeath: (error: Error) => void;
}

export interface ReceiverDeps extends ReceiverEvents {
  readonly inbox: InboxWriter;
  readonly host: HostTime;
  readonly log: Logger;
  /** Runs the work some turns of the event loop later, after the requests that are on their way into the process. */
  readonly later: (work: () => void) => void;
  /** Default 1 s. */
  readonly heartbeatEveryMs?: number;
}

export interface PublicPort {
  readonly host: string;
  readonly port: number;
  /** Descriptor of a passed socket, and its known properties. */
  readonly passed: ({ readonly fd: number } & PassedSocket) | null;
  /** The present one first. */
  readonly secrets: readonly [string, ...string[]];
  readonly listen: typeof listen;
}

/** Each heartbeat keeps a reading of the own clock. */
const HEARTBEAT_EVERY_MS = READING_EVERY_MS;
/** Requests under way at a stop may take this long. */
const DRAIN_MS = 1_500;

export class Receiver implements OwnHost {
  readonly #deps: ReceiverDeps;
  readonly #coverage: Coverage;
  readonly #reporting: Reporting;
  readonly #clock: OwnClock;
  readonly #reportFailure: ReturnType<typeof createLimitedLog>;
  /** Oldest first. */
  readonly #waiting: Waiting[] = [];
  #isScheduled = false;
  #isHeartbeatDue = false;
  #saidUnfit = false;
  #lastCommit: 'good' | 'failed' | 'none yet' = 'none yet';
  #firstHeartbeat = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | null = null;
  #listener: Listener | null = null;
  #passed: PassedSocket | null = null;
  #stream: Stream | null = null;
  /** The store's last one. */
  #lastWebhook: { readonly body: Uint8Array; readonly arrivedAtMs: number } | null = null;
  #clockRightAtMs: number | null = null;

  /** @param isShared a stream carries the deliveries of several receivers; `share` follows. */
  constructor(deps: ReceiverDeps, isShared: boolean) {
    const { host, inbox, log } = deps;
    const { clockMs, sinceBootMs, bootId } = inbox.lastRun;
    this.#deps = deps;
    this.#clock = new OwnClock(
      host,
      clockMs === null ? null : { clockMs, sinceBootMs: sinceBootMs ?? 0, bootId },
    );
    this.#coverage = new Coverage(this.#instant(), isShared);
    this.#reporting = new Reporting(this.#clock.now);
    this.#reportFailure = createLimitedLog((fields) =>
      log.error(
        fields,
        'deliveries could not be committed and were answered 503: their products are read once commits succeed again',
      ),
    );
  }

  /** Epoch ms, own clock. */
  get now(): () => number {
    return this.#clock.now;
  }

  /**
   * Arrival of the store's last webhook, if its time agrees with the own clock, else of an earlier one of which that was
   * found when this was asked; null if there is none in this run. A receiver sends the store no request, so a webhook is
   * the only evidence of the store's clock here.
   */
  get clockRightAtMs(): number | null {
    if (this.#lastWebhook === null) return null;
    const { body, arrivedAtMs } = this.#lastWebhook;
    const sentAtMs = requestTimeMs(body);
    if (isClockRight(sentAtMs === null ? null : arrivedAtMs - sentAtMs)) this.#clockRightAtMs = arrivedAtMs;
    return this.#clockRightAtMs;
  }

  /** The last commit succeeded. */
  get isStoring(): boolean {
    return this.#lastCommit === 'good';
  }

  get coverage(): Coverage {
    return this.#coverage;
  }

  /** The inbox's first id, also after a damaged file was replaced. */
  get hostId(): string {
    return this.#deps.inbox.lastRun.inboxId;
  }

  get lastRun(): OwnHost['lastRun'] {
    return this.#deps.inbox.lastRun;
  }

  get lastSeq(): number {
    return this.#deps.inbox.lastSeq;
  }

  unpublished(afterSeq: number): ReturnType<OwnHost['unpublished']> {
    return this.#deps.inbox.unpublished(afterSeq);
  }

  share(stream: Stream): void {
    this.#stream = stream;
  }

  /** null if this host has no public port. */
  get webhook(): Pick<Listener, 'host' | 'port'> | null {
    if (this.#listener === null) return null;
    const { host, port } = this.#listener;
    return { host, port };
  }

  /** Opens the public port, if there is one, and resolves once the first heartbeat is on disk or has failed. */
  async start(port: PublicPort | null): Promise<void> {
    if (port !== null) await this.#listen(port);
    const { heartbeatEveryMs = HEARTBEAT_EVERY_MS } = this.#deps;
    this.#timer = setInterval(() => this.#beat(), heartbeatEveryMs);
    this.#timer.unref();
    this.#beat();
    await this.#firstHeartbeat.promise;
  }

  /**
   * Resolves once all rows are on disk, in one transaction with the position. @throws SqliteFault if they are
   * not. Then the next position must not be beyond them, so the stream's rows wait for each other.
   * @param position where the rows end in the stream; null if they were received here.
   */
  append(rows: readonly NewRow[], position: StreamPosition | null): Promise<void> {
    const stored = Promise.withResolvers<void>();
    // A row of the stream arrives now: an earlier read of this host's mirror cannot have seen it.
    const arrivedAtMs = this.#clock.now();
    const isFromStream = position !== null;
    this.#waiting.push({
      arrivals: rows.map(({ kind, body }) => ({ kind, body, arrivedAtMs, isFromStream })),
      position,
      resolve: stored.resolve,
      reject: stored.reject,
    });
    this.#schedule();
    return stored.promise;
  }

  /**
   * Stops accepting, finishes the requests under way, and stores a last heartbeat. A quicker stop would cut
   * requests on connections from a passed socket, and the next start would not know that they were missed.
   */
  async stop(): Promise<void> {
    // A passed socket stays open.
    if (this.#listener !== null && this.#passed === null) this.#stream?.closing();
    await this.#listener?.stop(DRAIN_MS);
    if (this.#timer !== null) clearInterval(this.#timer);
    // The time that the stream takes is no standstill.
    this.look();
    this.#commitWaiting();
    await this.#stream?.stop();
    this.#commitWaiting();
    // With everything that may have been missed, so that the next start may trust a socket that stays open.
    if (this.#lastCommit !== 'none yet') this.#commit(true);
  }

  #commitWaiting(): void {
    while (this.#waiting.length > 0) this.#commit();
  }

  /** Call it after the stop, once no reader has the inbox open: the last one to close it removes its log. */
  close(): void {
    this.#deps.inbox.close();
  }

  async #listen({ host, port, passed, secrets, listen: open }: PublicPort): Promise<void> {
    const { log, inbox } = this.#deps;
    const app = createWebhookApp({
      append: (body, isTest) => {
        if (!isTest) this.#lastWebhook = { body, arrivedAtMs: this.#clock.now() };
        return this.append([{ kind: isTest ? 'test' : 'delivery', body }], null);
      },
      health: () => this.#health,
      noteTurnedAway: () => this.#noteTurnedAway(),
      secrets,
      reporting: this.#reporting,
      log,
    });
    this.#listener = await open({ ...app, onConnection: () => this.look() }, { host, port, fd: passed?.fd });
    this.#passed = passed;
    this.#coverage.opened(inbox.lastRun, {
      ...this.#instant(),
      bootId: this.#deps.host.bootId,
      passedSocket: passed,
    });
  }

  get #health(): Health {
    if (!this.isStoring) return 'cannot commit';
    return this.#stream?.isPublishing === false ? 'cannot publish' : 'fit';
  }

  /**
   * While commits fail, a balancer sends nothing here until the next `fit`: deliveries that it refused meanwhile are noted as
   * missed. While a host only cannot publish, a balancer without another receiver sends webhooks here all the same
   * (docs/several-machines.md#set-it-up).
   */
  #noteTurnedAway(): void {
    const isUnfit = this.#lastCommit === 'failed';
    if (isUnfit || this.#saidUnfit) this.#coverage.saidUnfit(Math.round(this.#deps.host.wallMs()));
    this.#saidUnfit = isUnfit;
  }

  #beat(): void {
    try {
      this.#deps.inbox.check();
    } catch (error) {
      this.#deps.onDeath(explained(this.#deps.inbox.path, error));
      return;
    }
    this.#isHeartbeatDue = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#deps.later(() => {
      this.#isScheduled = false;
      this.#commit();
      if (this.#waiting.length > 0) this.#schedule();
      this.#deps.inbox.checkpointIfDue();
    });
  }

  /** One transaction. @param isLast the run ends in order. */
  #commit(isLast = false): void {
    // Before the plan, so that a missed time noticed now is written with the waiting deliveries.
    this.look();
    const plan = planCommit({
      waiting: this.#waiting,
      missed: this.#coverage.due,
      isHeartbeatDue: this.#isHeartbeatDue || isLast,
    });
    if (plan === null) return;
    this.#waiting.splice(0, plan.taken.length);
    this.#isHeartbeatDue = false;
    const startedMs = performance.now();
    const fault = this.#write(plan, isLast);
    this.#reporting.committed(performance.now() - startedMs);
    if (fault === null) this.#succeeded(plan);
    else this.#failed(plan, fault);
  }

  #write({ missed, arrivals, position, hasHeartbeat }: CommitPlan, isLast: boolean): SqliteFault | null {
    const { inbox } = this.#deps;
    const atMs = this.#clock.now();
    const heartbeat = hasHeartbeat ? this.#heartbeat(isLast) : null;
    try {
      inbox.append({ missed, atMs, arrivals, position, heartbeat });
      return null;
    } catch (cause) {
      return explained(inbox.path, cause);
    }
  }

  #succeeded({ taken, missed, hasHeartbeat }: CommitPlan): void {
    this.#coverage.written();
    if (this.#lastCommit === 'failed') {
      this.#deps.onTrouble(null);
      this.#deps.log.warn('commits succeed again: the products of the refused deliveries are read');
    }
    this.#lastCommit = 'good';
    if (hasHeartbeat) {
      this.#reporting.written();
      this.#firstHeartbeat.resolve();
    }
    for (const { resolve } of taken) resolve();
    if (taken.length === 0 && missed.length === 0) return;
    this.#log(missed);
    this.#stream?.arrived();
    this.#deps.onCommit();
  }

  #failed({ taken }: CommitPlan, fault: SqliteFault): void {
    this.#deps.onTrouble(plainError(fault));
    this.#lastCommit = 'failed';
    this.#firstHeartbeat.resolve();
    const wallMs = this.#deps.host.wallMs();
    for (const { arrivals, reject } of taken) {
      for (const { kind, isFromStream, body } of arrivals) {
        if (kind !== 'delivery' || isFromStream) continue;
        this.#coverage.notStored(variantIdsOf(body), wallMs);
        this.#reportFailure('deliveries', { err: fault });
      }
      reject(fault);
    }
  }

  /** Notices times in which the process did not serve its socket, or the machine stood still. */
  look(): void {
    const stepMs = this.#clock.check();
    this.#coverage.look(this.#instant(), {
      isClockAhead: stepMs > 0,
      isQueueFull: () => this.#listener?.isQueueFull() ?? false,
    });
    if (stepMs < 0) {
      this.#deps.log.error(
        { aheadMs: -stepMs },
        'the clock of this run is more than a minute ahead of the wall clock, so it was wrong: it steps back',
      );
    }
  }

  #heartbeat(isLast: boolean): ReceiverHeartbeat {
    const { wallMs } = this.#instant();
    const { clockMs, sinceBootMs, bootId } = this.#clock.reading();
    const { unsure } = this.#coverage;
    const report = this.#reporting.report(this.#deps.inbox.lastSeq, this.#stream?.report() ?? null);
    return {
      aliveAtMs: wallMs,
      clockMs,
      sinceBootMs,
      bootId,
      isStopped: isLast,
      keptSocket: isLast ? (this.#passed?.inode ?? null) : null,
      unsureSinceMs: unsure === null ? null : (unsure.sinceMs ?? 0),
      // Without a stream, nothing waits to be published.
      publishedSeq: this.#stream?.publishedSeq ?? this.#deps.inbox.lastSeq,
      reportJson: JSON.stringify(report),
    };
  }

  #instant(): Instant {
    const { host } = this.#deps;
    return {
      wallMs: Math.round(host.wallMs()),
      sinceBootMs: host.sinceBootMs(),
      monotonicMs: host.monotonicMs(),
    };
  }

  #log(missed: readonly Missed[]): void {
    for (const { why, sinceMs, untilMs, variantIds } of missed) {
      if (why === 'first_start') continue;
      const variants = variantIds?.length ?? null;
      this.#deps.log.warn({ why, sinceMs, untilMs, variants }, 'deliveries may have been missed');
    }
  }
}
