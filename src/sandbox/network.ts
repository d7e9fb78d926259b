import type { Clock, Timers } from './clock.ts';
import type { DeliveryLog, DeliveryRecord } from './deliveries.ts';
import type { Change } from './model.ts';
import { createPending } from './pending.ts';
import type { Random } from './random.ts';
import type { Transmitter } from './transmit.ts';
import type { Delivery } from './webhooks.ts';

export type Range = { min: number; max: number };
export type Verdict = 'send' | 'lose' | 'hold' | { delayMs: number };

export type NetworkFaults = {
  /** Probability that a delivery is never sent. */
  loss: number;
  delayMs: Range;
  /** A heavy tail: with `probability`, up to `maxMs` more. */
  tail: { probability: number; maxMs: number };
  /** Probability that a delivery waits until one to three later ones have arrived. */
  reorder: number;
  /** Probability that the same bytes are sent again shortly afterwards. */
  duplicate: number;
  /** Changes within this window share a delivery. 0: one delivery per operation. */
  batchMs: number;
};

export type Held = {
  readonly deliveries: readonly Delivery[];
  /** Sends what was held, in order, each after the previous one is answered. Resolves when all are. */
  release(): Promise<void>;
};

export type Network = NetworkFaults & {
  /** Where deliveries go. Null or empty: nothing is delivered, and nothing is recorded. */
  webhookUrl: string | null;
  /** The app's switch for `stock_available_updated`: off stops its deliveries and keeps the URL. */
  enabled: boolean;
  /** How many deliveries are in transit at once. 1 keeps them strictly in order. */
  concurrency: number;
  /** Called first for every delivery; 'send' leaves it to the other faults, 'hold' keeps it for `releaseHeld`. */
  intercept: ((delivery: Delivery) => Verdict) | null;
  /** Loses the next `count` deliveries. */
  loseNext(count: number): void;
  /** Holds every delivery from now on until its `release`. */
  hold(): Held;
  /** Sends what an interceptor held, in order. */
  releaseHeld(): Promise<void>;
  readonly publish: (changes: readonly Change[]) => void;
  /** Resolves when nothing is in flight, delayed or waiting in a batch. What is held does not count. */
  idle(): Promise<void>;
  /** Sends everything that waits now, and resolves when it has been answered. */
  flush(): Promise<void>;
  stop(): Promise<void>;
};

/** A delivery held for reordering is sent after this time even if none has overtaken it. */
const REORDER_MAX_MS = 300;
const DUPLICATE_AFTER_MS = { min: 0, max: 60 };

/** The network between the store and the webhook receiver, with its faults. */
export function createNetwork(deps: {
  seal: (changes: readonly Change[]) => Delivery;
  transmitter: Transmitter;
  log: DeliveryLog;
  clock: Clock;
  random: Random;
  timers: Timers;
  webhookUrl: string | null;
}): Network {
  const { seal, transmitter, log, clock, random, timers } = deps;
  const pending = createPending(timers);
  const ready: (() => Promise<void>)[] = [];
  const keptBack: { overtakers: number; send: () => void }[] = [];
  const intercepted: DeliveryRecord[] = [];
  let holding: DeliveryRecord[] | null = null;
  let batch: Change[] = [];
  let toLose = 0;
  let inFlight = 0;

  const lose = (record: DeliveryRecord): void => {
    log.settle(record, { outcome: 'lost' });
  };

  const send = async (record: DeliveryRecord): Promise<void> => {
    const url = network.webhookUrl;
    if (url === null || url === '') {
      lose(record);
      return;
    }
    record.sentAtMs = clock.baseNow();
    const transmission = await transmitter.transmit(record.delivery, url);
    log.settle(record, {
      outcome: transmission.outcome,
      status: transmission.outcome === 'answered' ? transmission.status : null,
      ms: clock.baseNow() - record.sentAtMs,
    });
    for (const kept of [...keptBack]) {
      kept.overtakers -= 1;
      if (kept.overtakers === 0) kept.send();
    }
    if (!record.duplicate && random.chance(network.duplicate)) {
      const repeat = log.open(record.delivery, clock.baseNow(), true);
      pending.after(random.int(DUPLICATE_AFTER_MS.min, DUPLICATE_AFTER_MS.max), () => {
        void enqueue(repeat);
      });
    }
  };

  const pump = (): void => {
    while (inFlight < network.concurrency && ready.length > 0) {
      inFlight += 1;
      void ready.shift()!().finally(() => {
        inFlight -= 1;
        pump();
      });
    }
  };
  const enqueue = (record: DeliveryRecord): Promise<void> => {
    const sent = pending.track(
      new Promise<void>((resolve) => {
        ready.push(() => send(record).finally(resolve));
      }),
    );
    pump();
    return sent;
  };
  const sendInOrder = async (records: DeliveryRecord[]): Promise<void> => {
    for (const record of records) await enqueue(record);
  };

  const keepBack = (record: DeliveryRecord): void => {
    let cancel = (): void => undefined;
    const kept = {
      overtakers: random.int(1, 3),
      send: () => {
        const index = keptBack.indexOf(kept);
        if (index === -1) return;
        keptBack.splice(index, 1);
        void enqueue(record);
        cancel();
      },
    };
    keptBack.push(kept);
    cancel = pending.after(REORDER_MAX_MS, kept.send);
  };

  const route = (record: DeliveryRecord): void => {
    const verdict = network.intercept?.(record.delivery) ?? 'send';
    if (verdict === 'lose') return lose(record);
    if (holding !== null) return void holding.push(record);
    if (verdict === 'hold') return void intercepted.push(record);
    if (toLose > 0) {
      toLose -= 1;
      return lose(record);
    }
    if (typeof verdict === 'object') {
      pending.after(verdict.delayMs, () => enqueue(record));
      return;
    }
    if (random.chance(network.loss)) return lose(record);
    if (random.chance(network.reorder)) return keepBack(record);
    const { min, max } = network.delayMs;
    const tailMs = random.chance(network.tail.probability) ? random.int(0, network.tail.maxMs) : 0;
    const delayMs = (max > 0 ? random.int(min, max) : 0) + tailMs;
    if (delayMs > 0) pending.after(delayMs, () => enqueue(record));
    else void enqueue(record);
  };

  const deliver = (changes: readonly Change[]): void => {
    route(log.open(seal(changes), clock.baseNow(), false));
  };
  const closeBatch = (): void => {
    if (batch.length === 0) return;
    const changes = batch;
    batch = [];
    deliver(changes);
  };

  const network: Network = {
    loss: 0,
    delayMs: { min: 0, max: 0 },
    tail: { probability: 0, maxMs: 0 },
    reorder: 0,
    duplicate: 0,
    batchMs: 0,
    webhookUrl: deps.webhookUrl,
    enabled: true,
    concurrency: 64,
    intercept: null,
    loseNext: (count) => {
      toLose = count;
    },
    hold: () => {
      const mine: DeliveryRecord[] = [];
      holding = mine;
      return {
        get deliveries() {
          return mine.map((record) => record.delivery);
        },
        release: () => {
          if (holding === mine) holding = null;
          return sendInOrder(mine.splice(0));
        },
      };
    },
    releaseHeld: () => sendInOrder(intercepted.splice(0)),
    publish: (changes) => {
      if (!network.enabled || network.webhookUrl === null || network.webhookUrl === '') return;
      if (network.batchMs <= 0 && batch.length === 0) return deliver(changes);
      if (batch.length === 0) pending.after(network.batchMs, closeBatch);
      batch.push(...changes);
    },
    idle: () => pending.idle(),
    flush: async () => {
      closeBatch();
      pending.hurry();
      await pending.idle();
    },
    stop: async () => {
      batch = [];
      ready.length = 0;
      pending.cancel();
      await transmitter.close();
    },
  };
  return network;
}
