/**
 * The queue of product reads (docs/architecture.md#queue). It is in the database, so a kill loses nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { PRIORITY } from '../core/reasons.ts';
import { ServiceError } from '../store-api/transport/errors.ts';
import { isFaultOfMirror, readProduct, recordFailure, type ReadingDeps } from './product-reader.ts';
import type { Probe } from './probe.ts';
import type { Verification } from './verification.ts';

interface QueueDeps extends ReadingDeps {
  readonly verification: Pick<Verification, 'free' | 'begun'>;
  readonly probe: Pick<Probe, 'take' | 'claimsOf' | 'answered'>;
}

const IDLE_MS = 200;
/** Answers not recorded yet: a slow database holds the requests back. */
const MAX_UNDER_WAY = 24;
/** Scheduled reads yield to due ones, except for every fifth read: no flood of requests starves a product. */
const TURN_EVERY = 5;
/** A product read since then needs no turn. */
const TURN_AGE_MS = 10 * 60_000;
/** Pause after a database failure: an answer could not be stored either. */
const DATABASE_TROUBLE_MS = 1_000;

export class ReadQueue {
  readonly #deps: QueueDeps;
  readonly #stop = new AbortController();
  readonly #underWay = new Map<string, Promise<void>>();
  /** By the monotonic clock: the own clock may step back by hours. */
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  #sinceTurn = 0;
  #loop: Promise<void> | null = null;

  constructor(deps: QueueDeps) {
    this.#deps = deps;
  }

  get readsUnderWay(): number {
    return this.#underWay.size;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Ends reads under way without their answers; they stay due. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await Promise.all(this.#underWay.values());
  }

  async #run(): Promise<void> {
    while (!this.#isStopped()) {
      try {
        const free = this.#free();
        if (free === 0) await Promise.race([this.#wait(this.#freeInMs()), ...this.#underWay.values()]);
        else if ((await this.#startDue(free)) < free) await this.#wait(IDLE_MS);
      } catch (error) {
        if (this.#isStopped()) return;
        // A fault of the mirror is logged once, by its owner.
        if (this.#deps.mirror.fault === null) {
          this.#deps.log.error({ err: error }, 'the mirror could not list the due reads; trying again');
        }
        this.#heldUntilMs = performance.now() + DATABASE_TROUBLE_MS;
      }
    }
  }

  #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  #free(): number {
    if (performance.now() < this.#heldUntilMs) return 0;
    return Math.min(this.#deps.throttle.free(), MAX_UNDER_WAY - this.#underWay.size);
  }

  /** Only the end of a read, or of another request, makes room if time does not. */
  #freeInMs(): number {
    const inMs = Math.max(this.#heldUntilMs - performance.now(), this.#deps.throttle.freeInMs());
    return inMs > 0 ? Math.min(IDLE_MS, inMs) : IDLE_MS;
  }

  #wait(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.#stop.signal });
  }

  async #startDue(limit: number): Promise<number> {
    const { mirror, now, verification, probe } = this.#deps;
    const nowMs = now();
    const isTurn = this.#sinceTurn >= TURN_EVERY - 1;
    const { due, scheduled } = await mirror.ask('nextReads', {
      nowMs,
      limit,
      exclude: [...this.#underWay.keys()],
      turnBeforeMs: isTurn ? nowMs - TURN_AGE_MS : null,
      scheduled: verification.free(),
    });
    if (this.#isStopped()) return 0;
    this.#sinceTurn = scheduled.length > 0 || isTurn ? 0 : this.#sinceTurn + due.length;
    verification.begun(scheduled.length);
    const wanted = new Set([...scheduled, ...due.map(({ productId }) => productId)]);
    const isUnderWay = (productId: string): boolean => wanted.has(productId) || this.#underWay.has(productId);
    const probed = probe.take(limit - wanted.size, isUnderWay);
    const unasked = [...scheduled, ...probed].map((productId) => ({ productId, priority: PRIORITY.routine }));
    const reads = [...unasked, ...due];
    for (const { productId, priority } of reads) {
      const work = this.#read(productId, priority).finally(() => this.#underWay.delete(productId));
      this.#underWay.set(productId, work);
    }
    return reads.length;
  }

  /** Never rejects: every failure is recorded, or leaves the product due. */
  async #read(productId: string, priority: number): Promise<void> {
    const { throttle, probe, log } = this.#deps;
    try {
      const facts = await readProduct(this.#deps, productId, probe.claimsOf(productId), this.#stop.signal);
      probe.answered(
        productId,
        facts.some((fact) => fact.kind === 'drift' && fact.reason !== 'derived'),
      );
      for (const fact of facts) {
        if (fact.kind !== 'wrong_store') continue;
        throttle.stopForWrongStore(
          `the credentials are those of store ${fact.found}, but the mirror holds store ${fact.expected}; ` +
            'nothing is read: correct SERVICE_CLIENT_ID, or set DATABASE_PATH to a new file',
        );
      }
    } catch (error) {
      if (this.#isStopped()) return;
      if (isFaultOfMirror(error)) {
        // The product stays due. The fault is logged once, by its owner.
        log.debug({ productId, err: error }, 'the answer could not be stored, and is read again');
        this.#heldUntilMs = performance.now() + DATABASE_TROUBLE_MS;
        return;
      }
      log[levelOf(error)]({ productId, err: error }, 'a product could not be read from the store');
      try {
        const isParked = await recordFailure(
          this.#deps,
          { productId, priority },
          error,
          throttle.answeredAtMs,
        );
        if (isParked) {
          log.warn(
            { productId, err: error },
            'this product cannot be read; its rows stay suspect until the next schedule or resync tries again',
          );
        }
      } catch (recordError) {
        log.error({ productId, err: recordError }, 'the database could not record a failed read');
        this.#heldUntilMs = performance.now() + DATABASE_TROUBLE_MS;
      }
    }
  }
}

/**
 * The throttle or the failure's record reports other errors;
 * an answer that is not the store's is logged here.
 */
function levelOf(error: unknown): 'debug' | 'warn' | 'error' {
  if (!(error instanceof ServiceError)) return 'error';
  return error.kind === 'contract' ? 'warn' : 'debug';
}
