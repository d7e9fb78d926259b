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

export interface DeliveryRecord {
  /** Of the app that it is for. */
  readonly clientId: string;
  readonly delivery: Delivery;
  /** True for a repeat of bytes already sent. */
  readonly duplicate: boolean;
  readonly createdAtMs: number;
  readonly outcome: DeliveryOutcome;
  /** When it was sent; null until then, and for a lost one. Base clock, like `createdAtMs`. */
  sentAtMs: number | null;
  /** Where it was sent; null until then, and for a lost one. */
  url: string | null;
  readonly status: number | null;
  /** From sending to the answer. */
  readonly ms: number | null;
  /** Why the receiver was not reached, in the system's words. */
  readonly problem: string | null;
}

const KEPT = 10_000;

export class DeliveryLog {
  /** Oldest first; bounded, so the oldest are dropped. */
  readonly records: DeliveryRecord[] = [];
  /** Counts of all deliveries so far, by outcome. */
  readonly counts: Record<DeliveryOutcome, number> = {
    pending: 0,
    answered: 0,
    timeout: 0,
    failed: 0,
    lost: 0,
  };
  readonly #listeners = new Set<(record: DeliveryRecord) => void>();

  /** Called when a delivery's outcome is known. Returns a function that unsubscribes. */
  onSettled(listener: (record: DeliveryRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  open(opened: Pick<DeliveryRecord, 'clientId' | 'delivery' | 'createdAtMs' | 'duplicate'>): DeliveryRecord {
    const record: DeliveryRecord = {
      ...opened,
      outcome: 'pending',
      sentAtMs: null,
      url: null,
      status: null,
      ms: null,
      problem: null,
    };
    this.records.push(record);
    this.counts.pending += 1;
    // Drops a tenth at a time, so that bounding the list costs little per delivery.
    if (this.records.length > KEPT * 1.1) this.records.splice(0, this.records.length - KEPT);
    return record;
  }

  settle(record: DeliveryRecord, end: Partial<DeliveryRecord> & Pick<DeliveryRecord, 'outcome'>): void {
    this.counts[record.outcome] -= 1;
    Object.assign(record, end);
    this.counts[record.outcome] += 1;
    for (const listener of this.#listeners) listener(record);
  }
}
