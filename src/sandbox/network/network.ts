import type { Clock, Timers } from '../world/clock.ts';
import type { DeliveryLog, DeliveryRecord } from './deliveries.ts';
import type { Change } from '../world/model.ts';
import { Pending } from './pending.ts';
import type { Random } from '../world/random.ts';
import type { Transmitter } from './transmit.ts';
import { seal } from './webhooks.ts';
import type { Delivery } from './webhooks.ts';

export interface Range {
  readonly min: number;
  readonly max: number;
}

type Verdict = 'send' | 'lose' | { readonly delayMs: number };

interface Held {
  readonly deliveries: readonly Delivery[];
  /** Sends what was held, in order, each after the previous one is answered. Resolves when all are. */
  release(): Promise<void>;
}

interface NetworkDeps {
  /** Of the app that it delivers to. */
  readonly clientId: string;
  readonly webhookSecret: string;
  /** Tells the request ids of several apps apart. */
  readonly serial: number;
  readonly transmitter: Transmitter;
  readonly log: DeliveryLog;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly webhookUrl: string | null;
}

interface KeptBack {
  overtakers: number;
  readonly send: () => void;
}

/** A delivery held for reordering is sent after this time even if none has overtaken it. */
const REORDER_MAX_MS = 300;
const DUPLICATE_AFTER_MS = { min: 0, max: 60 };

/** The network between the store and the webhook receiver, with its faults. */
export class Network {
  readonly clientId: string;
  /** Set it to sign later deliveries with another one. */
  webhookSecret: string;
  /** Probability that a delivery is never sent. */
  loss = 0;
  delayMs: Range = { min: 0, max: 0 };
  /** A heavy tail: with `probability`, up to `maxMs` more. */
  tail = { probability: 0, maxMs: 0 };
  /** Probability that a delivery waits until one to three later ones have arrived. */
  reorder = 0;
  /** Probability that the same bytes are sent again shortly afterwards. */
  duplicate = 0;
  /** Changes within this window share a delivery. 0: one delivery per operation. */
  batchMs = 0;
  /** Where deliveries go. Null or empty: nothing is delivered, and nothing is recorded. */
  webhookUrl: string | null;
  /** The app's switch for `stock_available_updated`: off stops its deliveries and keeps the URL. */
  enabled = true;
  /** How many deliveries are in transit at once. 1 keeps them strictly in order. */
  concurrency = 64;
  /** Called first for every delivery; 'send' leaves it to the other faults. */
  intercept: ((delivery: Delivery) => Verdict) | null = null;
  readonly #deps: NetworkDeps;
  readonly #pending: Pending;
  readonly #ready: (() => Promise<void>)[] = [];
  readonly #keptBack: KeptBack[] = [];
  #holding: DeliveryRecord[] | null = null;
  #batch: Change[] = [];
  #toLose = 0;
  #losing: DeliveryRecord[] | null = null;
  #inFlight = 0;
  readonly #idPrefix: string;
  #sealed = 0;

  constructor(deps: NetworkDeps) {
    this.#deps = deps;
    this.#pending = new Pending(deps.timers);
    this.clientId = deps.clientId;
    this.webhookSecret = deps.webhookSecret;
    this.webhookUrl = deps.webhookUrl;
    // From the clock, not the seed: a restarted sandbox must not repeat ids to the same receiver.
    this.#idPrefix = `whk_${Math.round(deps.clock.baseNow()).toString(36)}_${deps.serial}`;
  }

  /** Loses the next `count` deliveries. */
  loseNext(count: number): void {
    this.#toLose = count;
  }

  /** Whether a change makes a delivery at all. */
  get sends(): boolean {
    return this.enabled && this.webhookUrl !== null && this.webhookUrl !== '';
  }

  /** Loses each delivery that `act` leads to, whatever the faults say. */
  loseDuring(act: () => unknown): readonly DeliveryRecord[] {
    const lost: DeliveryRecord[] = [];
    this.#losing = lost;
    try {
      act();
    } finally {
      this.#losing = null;
    }
    return lost;
  }

  /** Holds every delivery from now on until its `release`. */
  hold(): Held {
    const mine: DeliveryRecord[] = [];
    this.#holding = mine;
    return {
      get deliveries() {
        return mine.map((record) => record.delivery);
      },
      release: () => {
        if (this.#holding === mine) this.#holding = null;
        return this.#sendInOrder(mine.splice(0));
      },
    };
  }

  publish(changes: readonly Change[]): void {
    if (!this.sends) return;
    if (this.#losing !== null) {
      const record = this.#open(changes);
      this.#losing.push(record);
      this.#lose(record);
      return;
    }
    if (this.batchMs <= 0 && this.#batch.length === 0) {
      this.#deliver(changes);
      return;
    }
    if (this.#batch.length === 0) {
      this.#pending.after(this.batchMs, () => {
        this.#closeBatch();
      });
    }
    this.#batch.push(...changes);
  }

  /** Resolves when nothing is in flight, delayed or waiting in a batch. What is held does not count. */
  idle(): Promise<void> {
    return this.#pending.idle();
  }

  /** Sends everything that waits now, and resolves when it has been answered. */
  async flush(): Promise<void> {
    this.#closeBatch();
    this.#pending.hurry();
    await this.#pending.idle();
  }

  /** What waits is not sent. */
  stop(): void {
    this.#batch = [];
    this.#ready.length = 0;
    this.#pending.cancel();
  }

  /** Sends the same bytes once more, to any address, past all faults. */
  async resend(delivery: Delivery, url: string): Promise<DeliveryRecord> {
    const record = this.#log(delivery, { duplicate: true });
    await this.#pending.track(this.#transmit(record, url));
    return record;
  }

  #closeBatch(): void {
    if (this.#batch.length === 0) return;
    const changes = this.#batch;
    this.#batch = [];
    this.#deliver(changes);
  }

  #deliver(changes: readonly Change[]): void {
    this.#route(this.#open(changes));
  }

  #open(changes: readonly Change[]): DeliveryRecord {
    const { clock } = this.#deps;
    this.#sealed += 1;
    const requestId = `${this.#idPrefix}_${String(this.#sealed).padStart(8, '0')}`;
    return this.#log(seal(changes, { requestId, requestTimeMs: clock.now(), secret: this.webhookSecret }));
  }

  #log(delivery: Delivery, { duplicate } = { duplicate: false }): DeliveryRecord {
    const { log, clock, clientId } = this.#deps;
    return log.open({ clientId, delivery, createdAtMs: clock.baseNow(), duplicate });
  }

  #route(record: DeliveryRecord): void {
    const { random } = this.#deps;
    const verdict = this.intercept?.(record.delivery) ?? 'send';
    if (verdict === 'lose') this.#lose(record);
    else if (this.#holding !== null) this.#holding.push(record);
    else if (this.#toLose > 0) {
      this.#toLose -= 1;
      this.#lose(record);
    } else if (typeof verdict === 'object') this.#sendAfter(verdict.delayMs, record);
    else if (random.chance(this.loss)) this.#lose(record);
    else if (random.chance(this.reorder)) this.#keepBack(record);
    else this.#sendLate(record);
  }

  #sendLate(record: DeliveryRecord): void {
    const { random } = this.#deps;
    const { min, max } = this.delayMs;
    const tailMs = random.chance(this.tail.probability) ? random.int(0, this.tail.maxMs) : 0;
    const delayMs = (max > 0 ? random.int(min, max) : 0) + tailMs;
    if (delayMs > 0) this.#sendAfter(delayMs, record);
    else void this.#enqueue(record);
  }

  #sendAfter(ms: number, record: DeliveryRecord): void {
    this.#pending.after(ms, () => this.#enqueue(record));
  }

  #lose(record: DeliveryRecord): void {
    this.#deps.log.settle(record, { outcome: 'lost' });
  }

  #keepBack(record: DeliveryRecord): void {
    let cancel = (): void => undefined;
    const kept = {
      overtakers: this.#deps.random.int(1, 3),
      send: () => {
        const index = this.#keptBack.indexOf(kept);
        if (index === -1) return;
        this.#keptBack.splice(index, 1);
        void this.#enqueue(record);
        cancel();
      },
    };
    this.#keptBack.push(kept);
    cancel = this.#pending.after(REORDER_MAX_MS, kept.send);
  }

  async #sendInOrder(records: readonly DeliveryRecord[]): Promise<void> {
    for (const record of records) await this.#enqueue(record);
  }

  #enqueue(record: DeliveryRecord): Promise<void> {
    const sent = this.#pending.track(
      new Promise<void>((resolve) => {
        this.#ready.push(() => this.#send(record).finally(resolve));
      }),
    );
    this.#pump();
    return sent;
  }

  #pump(): void {
    while (this.#inFlight < this.concurrency) {
      const send = this.#ready.shift();
      if (send === undefined) return;
      this.#inFlight += 1;
      void send().finally(() => {
        this.#inFlight -= 1;
        this.#pump();
      });
    }
  }

  async #send(record: DeliveryRecord): Promise<void> {
    const url = this.webhookUrl;
    if (url === null || url === '') {
      this.#lose(record);
      return;
    }
    await this.#transmit(record, url);
    for (const kept of [...this.#keptBack]) {
      kept.overtakers -= 1;
      if (kept.overtakers === 0) kept.send();
    }
    const { random } = this.#deps;
    if (record.duplicate || !random.chance(this.duplicate)) return;
    const repeat = this.#log(record.delivery, { duplicate: true });
    this.#sendAfter(random.int(DUPLICATE_AFTER_MS.min, DUPLICATE_AFTER_MS.max), repeat);
  }

  async #transmit(record: DeliveryRecord, url: string): Promise<void> {
    const { transmitter, log, clock } = this.#deps;
    record.sentAtMs = clock.baseNow();
    record.url = url;
    const transmission = await transmitter.transmit(record.delivery, url);
    log.settle(record, {
      outcome: transmission.outcome,
      status: transmission.outcome === 'answered' ? transmission.status : null,
      ms: clock.baseNow() - record.sentAtMs,
      problem: transmission.outcome === 'failed' ? (transmission.problem ?? null) : null,
    });
  }
}
