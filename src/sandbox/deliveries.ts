import type { Delivery } from './webhooks.ts';

export type DeliveryOutcome =
  /** Waiting to be sent, or in transit. */
  | 'pending'
  /** The receiver answered in time; `status` says what. */
  | 'answered'
  /** No answer within one second. */
  | 'timeout'
  /** The receiver could not be reached or cut the connection. */
  | 'failed'
  /** The simulated network lost it: it was never sent. */
  | 'lost';

export type DeliveryRecord = {
  readonly delivery: Delivery;
  /** True for a repeat of bytes already sent. */
  readonly duplicate: boolean;
  readonly createdAtMs: number;
  outcome: DeliveryOutcome;
  /** When it was sent; null until then, and for a lost one. Base clock, like `createdAtMs`. */
  sentAtMs: number | null;
  status: number | null;
  /** From sending to the answer. */
  ms: number | null;
};

export type Deliveries = {
  /** Oldest first; bounded, so the oldest are dropped. */
  readonly records: readonly DeliveryRecord[];
  /** Counts of all deliveries so far, by outcome. */
  readonly counts: Readonly<Record<DeliveryOutcome, number>>;
  /** Called when a delivery's outcome is known. Returns a function that unsubscribes. */
  onSettled(listener: (record: DeliveryRecord) => void): () => void;
};

export type DeliveryLog = Deliveries & {
  open(delivery: Delivery, atMs: number, duplicate: boolean): DeliveryRecord;
  settle(record: DeliveryRecord, end: Partial<DeliveryRecord> & { outcome: DeliveryOutcome }): void;
};

const KEPT = 10_000;

export function createDeliveryLog(): DeliveryLog {
  const records: DeliveryRecord[] = [];
  const counts: Record<DeliveryOutcome, number> = { pending: 0, answered: 0, timeout: 0, failed: 0, lost: 0 };
  const listeners = new Set<(record: DeliveryRecord) => void>();
  return {
    records,
    counts,
    onSettled: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    open: (delivery, atMs, duplicate) => {
      const record: DeliveryRecord = {
        delivery,
        duplicate,
        createdAtMs: atMs,
        outcome: 'pending',
        sentAtMs: null,
        status: null,
        ms: null,
      };
      records.push(record);
      counts.pending += 1;
      // Drops a tenth at a time, so that bounding the list costs little per delivery.
      if (records.length > KEPT * 1.1) records.splice(0, records.length - KEPT);
      return record;
    },
    settle: (record, end) => {
      counts[record.outcome] -= 1;
      Object.assign(record, end);
      counts[record.outcome] += 1;
      for (const listener of listeners) listener(record);
    },
  };
}
