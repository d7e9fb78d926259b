import type { Delivery } from './webhooks.ts';

type DeliveryOutcome = 'pending' | 'answered' | 'timeout' | 'failed' | 'lost';

export interface DeliveryRecord {
  readonly clientId: string;
  readonly delivery: Delivery;
  readonly duplicate: boolean;
  readonly createdAtMs: number;
  readonly outcome: DeliveryOutcome;
  /** null until it is sent. Base clock, like `createdAtMs`. */
  sentAtMs: number | null;
  readonly status: number | null;
  readonly ms: number | null;
  readonly problem: string | null;
}

const KEPT = 10_000;

export class DeliveryLog {
  readonly records: DeliveryRecord[] = [];
  /** Dropped ones included. */
  readonly counts: Record<DeliveryOutcome, number> = {
    pending: 0,
    answered: 0,
    timeout: 0,
    failed: 0,
    lost: 0,
  };
  readonly #listeners = new Set<(record: DeliveryRecord) => void>();

  onSettled(listener: (record: DeliveryRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  open(opened: Pick<DeliveryRecord, 'clientId' | 'delivery' | 'createdAtMs' | 'duplicate'>): DeliveryRecord {
    const record: DeliveryRecord = {
      ...opened,
      outcome: 'pending',
      sentAtMs: null,
      status: null,
      ms: null,
      problem: null,
    };
    this.records.push(record);
    this.counts.pending += 1;
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
