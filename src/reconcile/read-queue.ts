/**
 * The one queue of product reads (DESIGN §9). It is not kept in memory: what is due is asked of the database, so that
 * a kill forgets nothing, and a product that becomes due during its read is simply due again afterwards.
 */
import type { Fact } from '../core/fact.ts';
import { ServiceError } from '../service/errors.ts';
import type { Logger } from '../log.ts';
import { createPause, sleep } from './pause.ts';
import { readProduct, recordFailure, type ProductReaderDeps } from './product-reader.ts';
import type { Throttle } from './throttle.ts';

export interface ReadQueueDeps extends ProductReaderDeps {
  readonly throttle: Throttle;
  readonly log: Logger;
  /** Told of each answer put on record. */
  readonly onRead: (productId: string, facts: readonly Fact[]) => void;
  /** Told when the service refused the read for good. */
  readonly onParked: (productId: string, error: unknown) => void;
}

/** How long to wait when nothing is due, unless woken. */
const IDLE_MS = 200;
/** How long to wait for the throttle when something is due. */
const THROTTLED_MS = 20;
/** Every fifth read goes to the product read longest ago, so that no flood of doubts starves it. */
const FAIR_SHARE = 5;
/** A product read this recently needs no fair share. */
const FAIR_AGE_MS = 10 * 60_000;
const STORE_TROUBLE_MS = 1_000;

export class ReadQueue {
  readonly #deps: ReadQueueDeps;
  readonly #pause = createPause();
  readonly #stop = new AbortController();
  readonly #underWay = new Map<string, Promise<void>>();
  #sinceFair = 0;
  #loop: Promise<void> | null = null;

  constructor(deps: ReadQueueDeps) {
    this.#deps = deps;
  }

  get readsUnderWay(): number {
    return this.#underWay.size;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Something may have become due. */
  wake(): void {
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
        const started = await this.#startDue();
        await this.#pause.wait(started === 'throttled' ? THROTTLED_MS : IDLE_MS);
      } catch (error) {
        if (this.#isStopped()) return;
        this.#deps.log.error({ err: error }, 'cannot ask the database what is due; trying again');
        await this.#pause.wait(STORE_TROUBLE_MS);
      }
    }
  }

  #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #startDue(): Promise<'idle' | 'throttled'> {
    const { throttle, store, now } = this.#deps;
    const free = throttle.free();
    if (free === 0) return 'throttled';
    const exclude = [...this.#underWay.keys()];
    const due = await store.reader.ask('dueReads', { nowMs: now(), limit: free, exclude });
    for (const { productId } of due) {
      if (this.#isStopped() || throttle.free() === 0) return 'throttled';
      await this.#startFairShare();
      if (throttle.free() > 0 && !this.#underWay.has(productId)) this.#start(productId);
    }
    return due.length === free ? 'throttled' : 'idle';
  }

  async #startFairShare(): Promise<void> {
    this.#sinceFair += 1;
    if (this.#sinceFair < FAIR_SHARE) return;
    this.#sinceFair = 0;
    const nowMs = this.#deps.now();
    const productId = await this.#deps.store.reader.ask('oldestVerified', {
      nowMs,
      beforeMs: nowMs - FAIR_AGE_MS,
      exclude: [...this.#underWay.keys()],
    });
    if (productId !== null) this.#start(productId);
  }

  #start(productId: string): void {
    const work = this.#read(productId).finally(() => {
      this.#underWay.delete(productId);
      this.#pause.wake();
    });
    this.#underWay.set(productId, work);
  }

  /** Never rejects: every failure is on record, or leaves the product due. */
  async #read(productId: string): Promise<void> {
    const { throttle, log, onRead, onParked } = this.#deps;
    try {
      const facts = await throttle.send(() => readProduct(this.#deps, productId, this.#stop.signal));
      for (const fact of facts) {
        if (fact.kind !== 'wrong_store') continue;
        throttle.stopForWrongStore(
          `the service answers for store ${fact.found}, the mirror holds store ${fact.expected}: ` +
            'correct SERVICE_CLIENT_ID, or set DATABASE_PATH to a new file',
        );
      }
      onRead(productId, facts);
    } catch (error) {
      if (this.#isStopped()) return;
      log[levelOf(error)]({ productId, err: error }, 'a product could not be read');
      try {
        const isParked = await recordFailure(this.#deps, productId, error, throttle.answeredAtMs);
        if (isParked) onParked(productId, error);
      } catch (storeError) {
        log.error({ productId, err: storeError }, 'cannot put a failed read on record');
        // Still due: the pause keeps it from being read again in a tight loop.
        await sleep(STORE_TROUBLE_MS, this.#stop.signal).catch(() => undefined);
      }
    }
  }
}

/** What the throttle or the failure's own record tells is no news; an answer that is not the service's is. */
function levelOf(error: unknown): 'debug' | 'warn' | 'error' {
  if (!(error instanceof ServiceError)) return 'error';
  return error.kind === 'contract' ? 'warn' : 'debug';
}
