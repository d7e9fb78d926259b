/**
 * The one queue of product reads (docs/architecture.md#queue). It is kept in memory only briefly: what is
 * due is read from the database, so that a kill forgets nothing, and a product that becomes due during its read is
 * simply due again afterwards.
 */
import type { Fact } from '../core/apply/fact.ts';
import { ServiceError } from '../store-api/transport/errors.ts';
import type { Logger } from '../platform/log.ts';
import { DueAhead } from './due-ahead.ts';
import { createPause } from './pause.ts';
import { askProduct, recordAnswer, recordFailure, type ProductReaderDeps } from './product-reader.ts';
import type { Throttle } from './throttle.ts';

interface ReadQueueDeps extends ProductReaderDeps {
  readonly throttle: Throttle;
  readonly log: Logger;
  /** Called when the store refused the read for good. */
  readonly onParked: (productId: string, error: unknown) => void;
  /** Called when everything that was due is read. */
  readonly onIdle: () => void;
}

/** How long to wait when nothing is due, unless woken. */
const IDLE_MS = 200;
/** How long to wait for the throttle when something is due. */
const THROTTLED_MS = 20;
/** How many products are queried at once, for each request that may be under way. */
const AHEAD = 4;
/**
 * Answers on their way from the socket into the event log: a database that does not keep up holds the requests back.
 */
const MAX_UNRECORDED = 24;
/** Answers come in bursts: the next requests go out for all of them before the first is parsed. */
const BURST_MS = 2;
/** An answer above this is looked at in a turn of its own. */
const LARGE_BYTES = 128 << 10;
/**
 * A database that cannot record even a failure can save no answer either: for this long the store is asked for
 * nothing.
 */
const STORE_TROUBLE_MS = 1_000;

export class ReadQueue {
  readonly #deps: ReadQueueDeps;
  readonly #pause = createPause();
  readonly #stop = new AbortController();
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #ahead: DueAhead;
  #unrecorded = 0;
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  #isBusy = false;
  #loop: Promise<void> | null = null;
  #largeAnswers: Promise<void> = Promise.resolve();

  constructor(deps: ReadQueueDeps) {
    this.#deps = deps;
    this.#ahead = new DueAhead({ reader: deps.store.reader, now: deps.now });
  }

  get readsUnderWay(): number {
    return this.#underWay.size;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Something may have become due. */
  wake(): void {
    this.#ahead.expire();
    this.#pause.wake();
  }

  /** Ends reads under way without their answers; what was due stays due. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#pause.stop();
    await this.#loop;
    await Promise.all(this.#underWay.values());
  }

  async #run(): Promise<void> {
    while (!this.#isStopped()) {
      try {
        if (this.#ahead.isSpent && (this.#free() > 0 || this.#underWay.size > 0)) await this.#look();
        this.#startDue();
        if (this.#free() > 0 && this.#ahead.hasMore && this.#ahead.isSpent) continue;
        await this.#pause.wait(this.#ahead.hasMore ? THROTTLED_MS : IDLE_MS);
      } catch (error) {
        if (this.#isStopped()) return;
        this.#deps.log.error(
          { err: error },
          'the database failed to answer which reads are due; trying again',
        );
        await this.#pause.wait(STORE_TROUBLE_MS);
      }
    }
  }

  async #look(): Promise<void> {
    await this.#ahead.ask(AHEAD * this.#deps.throttle.concurrencyLimit, [...this.#underWay.keys()]);
    if (!this.#isBusy || this.#ahead.hasMore || this.#underWay.size > 0) return;
    this.#isBusy = false;
    this.#deps.onIdle();
  }

  #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  #free(): number {
    if (this.#deps.now() < this.#heldUntilMs) return 0;
    return Math.min(this.#deps.throttle.free(), MAX_UNRECORDED - this.#unrecorded);
  }

  #startDue(): void {
    while (!this.#isStopped() && this.#free() > 0) {
      const productId = this.#ahead.take();
      if (productId === null) return;
      if (!this.#underWay.has(productId)) this.#start(productId);
    }
  }

  /** A request may follow the one that has ended. */
  #goOn(): void {
    this.#startDue();
    if (this.#ahead.isSpent) this.#pause.wake();
  }

  #start(productId: string): void {
    const work = this.#read(productId).finally(() => {
      this.#underWay.delete(productId);
      // It may be due again.
      if (!this.#ahead.hasMore) this.wake();
      else this.#goOn();
    });
    this.#underWay.set(productId, work);
    this.#isBusy = true;
  }

  /** Never rejects: every failure is recorded, or leaves the product due. */
  async #read(productId: string): Promise<void> {
    const { throttle, log, onParked } = this.#deps;
    try {
      const facts = await this.#askAndRecord(productId);
      for (const fact of facts) {
        if (fact.kind !== 'wrong_store') continue;
        throttle.stopForWrongStore(
          `the credentials are those of store ${fact.found}, but the mirror holds store ${fact.expected}; nothing is read: ` +
            'correct SERVICE_CLIENT_ID, or set DATABASE_PATH to a new file',
        );
      }
    } catch (error) {
      if (this.#isStopped()) return;
      log[levelOf(error)]({ productId, err: error }, 'a product could not be read from the store');
      try {
        const isParked = await recordFailure(this.#deps, productId, error, throttle.answeredAtMs);
        if (isParked) onParked(productId, error);
      } catch (storeError) {
        log.error({ productId, err: storeError }, 'the database could not record a failed read');
        this.#heldUntilMs = this.#deps.now() + STORE_TROUBLE_MS;
      }
    }
  }

  /** What came on the sockets meanwhile is taken between two of them, and between reading one and recording it. */
  #turnOfLarge(): Promise<void> {
    this.#largeAnswers = this.#largeAnswers.then(() => new Promise((resolve) => setImmediate(resolve)));
    return this.#largeAnswers;
  }

  /** The next request waits neither for this answer to be parsed nor for the disk. */
  async #askAndRecord(productId: string): Promise<readonly Fact[]> {
    let isArrived = false;
    const goOn = (): void => {
      if (isArrived) return;
      isArrived = true;
      this.#unrecorded += 1;
      this.#goOn();
    };
    try {
      const answered = await this.#deps.throttle.send((arrived) =>
        askProduct(this.#deps, productId, {
          signal: this.#stop.signal,
          onArrived: async (bytes) => {
            arrived();
            goOn();
            if (bytes > LARGE_BYTES) await this.#turnOfLarge();
            else await new Promise((resolve) => setTimeout(resolve, BURST_MS));
          },
        }),
      );
      if ((answered.snapshot?.detailJson.length ?? 0) > LARGE_BYTES) await this.#turnOfLarge();
      const recorded = recordAnswer(this.#deps, answered);
      goOn();
      return await recorded;
    } finally {
      if (isArrived) this.#unrecorded -= 1;
    }
  }
}

/**
 * Failures that the throttle or their own record reports are not logged again; an answer that is not the store's is.
 */
function levelOf(error: unknown): 'debug' | 'warn' | 'error' {
  if (!(error instanceof ServiceError)) return 'error';
  return error.kind === 'contract' ? 'warn' : 'debug';
}
