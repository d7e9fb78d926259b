import type { SentItem } from '../world/ledger.ts';
import type { Clock } from '../world/clock.ts';
import type { DeliveryLog, DeliveryRecord } from './deliveries.ts';
import type { Random } from '../world/random.ts';
import type { Transmitter } from './transmit.ts';
import { seal, type Delivery } from './webhooks.ts';

export interface Range {
  readonly min: number;
  readonly max: number;
}

type Verdict = 'send' | 'lose' | { readonly delayMs: number };

interface NetworkDeps {
  readonly clientId: string;
  readonly webhookSecret: string;
  /** Distinguishes the request ids of several apps. */
  readonly serial: number;
  readonly transmitter: Transmitter;
  readonly log: DeliveryLog;
  readonly clock: Clock;
  readonly random: Random;
  readonly webhookUrl: string | null;
}

const REORDER_MS = { min: 50, max: 300 };
const DUPLICATE_AFTER_MS = { min: 0, max: 60 };

export class Network {
  readonly clientId: string;
  webhookSecret: string;
  loss = 0;
  delayMs: Range = { min: 0, max: 0 };
  tail = { probability: 0, maxMs: 0 };
  reorder = 0;
  duplicate = 0;
  /** Changes within this time share a delivery. 0: one delivery per operation. */
  batchMs = 0;
  /** null or empty: nothing is delivered or recorded. */
  webhookUrl: string | null;
  /** Deliveries in transit at once. 1 keeps them in order. */
  concurrency = 64;
  /** 'send' leaves the delivery to the other faults. */
  intercept: ((delivery: Delivery) => Verdict) | null = null;
  readonly #deps: NetworkDeps;
  readonly #idPrefix: string;
  #sealed = 0;
  #toLose = 0;
  #batch: SentItem[] = [];
  /** Delayed actions; calling one carries it out at once. */
  readonly #waiting = new Set<() => void>();
  readonly #ready: DeliveryRecord[] = [];
  #inFlight = 0;
  #idle: (() => void)[] = [];

  constructor(deps: NetworkDeps) {
    this.#deps = deps;
    this.clientId = deps.clientId;
    this.webhookSecret = deps.webhookSecret;
    this.webhookUrl = deps.webhookUrl;
    // From the clock, not the seed: a restarted sandbox must not repeat ids to the same receiver.
    this.#idPrefix = `whk_${Math.round(deps.clock.baseNow()).toString(36)}_${deps.serial}`;
  }

  /** Loses the webhooks of the next `count` operations. */
  loseNext(count: number): void {
    this.#toLose = count;
  }

  get sends(): boolean {
    return this.webhookUrl !== null && this.webhookUrl !== '';
  }

  publish(changes: readonly SentItem[]): void {
    if (!this.sends) return;
    if (this.#toLose > 0) {
      this.#toLose -= 1;
      this.#lose(this.#open(changes));
    } else if (this.batchMs <= 0 && this.#batch.length === 0) {
      this.#route(this.#open(changes));
    } else {
      if (this.#batch.length === 0) this.#later(this.batchMs, () => this.#closeBatch());
      this.#batch.push(...changes);
    }
  }

  /** Resolves when nothing is in flight, delayed or waiting in a batch. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#pump();
    });
  }

  flush(): Promise<void> {
    this.#closeBatch();
    for (const act of this.#waiting) act();
    return this.idle();
  }

  stop(): void {
    this.#batch = [];
    this.#ready.length = 0;
    this.#waiting.clear();
    this.#pump();
  }

  #closeBatch(): void {
    const changes = this.#batch;
    this.#batch = [];
    if (changes.length > 0) this.#route(this.#open(changes));
  }

  #open(changes: readonly SentItem[]): DeliveryRecord {
    this.#sealed += 1;
    const requestId = `${this.#idPrefix}_${String(this.#sealed).padStart(8, '0')}`;
    const requestTimeMs = this.#deps.clock.now();
    return this.#log(seal(changes, { requestId, requestTimeMs, secret: this.webhookSecret }));
  }

  #log(delivery: Delivery, { duplicate } = { duplicate: false }): DeliveryRecord {
    const { log, clock, clientId } = this.#deps;
    return log.open({ clientId, delivery, createdAtMs: clock.baseNow(), duplicate });
  }

  #route(record: DeliveryRecord): void {
    const verdict = this.intercept?.(record.delivery) ?? 'send';
    if (verdict === 'lose' || (verdict === 'send' && this.#deps.random.chance(this.loss))) {
      this.#lose(record);
    } else {
      this.#sendAfter(verdict === 'send' ? this.#drawDelayMs() : verdict.delayMs, record);
    }
  }

  #drawDelayMs(): number {
    const { random } = this.#deps;
    const { min, max } = this.delayMs;
    return (
      (max > 0 ? random.int(min, max) : 0) +
      (random.chance(this.tail.probability) ? random.int(0, this.tail.maxMs) : 0) +
      (random.chance(this.reorder) ? random.int(REORDER_MS.min, REORDER_MS.max) : 0)
    );
  }

  #lose(record: DeliveryRecord): void {
    this.#deps.log.settle(record, { outcome: 'lost' });
  }

  #sendAfter(ms: number, record: DeliveryRecord): void {
    const send = (): void => {
      this.#ready.push(record);
      this.#pump();
    };
    if (ms > 0) this.#later(ms, send);
    else send();
  }

  #later(ms: number, action: () => void): void {
    const act = (): void => {
      cancel();
      if (!this.#waiting.delete(act)) return;
      action();
      this.#pump();
    };
    const cancel = this.#deps.clock.after(ms, act);
    this.#waiting.add(act);
  }

  #pump(): void {
    while (this.#inFlight < this.concurrency) {
      const record = this.#ready.shift();
      if (record === undefined) break;
      this.#inFlight += 1;
      void this.#send(record).finally(() => {
        this.#inFlight -= 1;
        this.#pump();
      });
    }
    if (this.#inFlight > 0 || this.#waiting.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #send(record: DeliveryRecord): Promise<void> {
    const url = this.webhookUrl;
    if (url === null || url === '') {
      this.#lose(record);
      return;
    }
    await this.#transmit(record, url);
    const { random } = this.#deps;
    if (record.duplicate || !random.chance(this.duplicate)) return;
    const repeat = this.#log(record.delivery, { duplicate: true });
    this.#sendAfter(random.int(DUPLICATE_AFTER_MS.min, DUPLICATE_AFTER_MS.max), repeat);
  }

  async #transmit(record: DeliveryRecord, url: string): Promise<void> {
    const { transmitter, log, clock } = this.#deps;
    record.sentAtMs = clock.baseNow();
    const transmission = await transmitter.transmit(record.delivery, url);
    log.settle(record, {
      outcome: transmission.outcome,
      status: transmission.outcome === 'answered' ? transmission.status : null,
      ms: clock.baseNow() - record.sentAtMs,
      problem: transmission.outcome === 'failed' ? (transmission.problem ?? null) : null,
    });
  }
}
