/** Lower is sooner (docs/architecture.md#queue). */
export const PRIORITY = {
  operator: 0,
  conflict: 1,
  gap: 2,
  unmapped: 3,
  downtime: 3,
  /** Nothing is known to be wrong. */
  routine: 4,
} as const;

interface Consequence {
  readonly priority: number;
  readonly isSuspect: boolean;
}

export const REASONS = {
  operator: { priority: PRIORITY.operator, isSuspect: false },
  unmapped: { priority: PRIORITY.unmapped, isSuspect: false },
  conflict: { priority: PRIORITY.conflict, isSuspect: true },
  /** The rows that reads no longer show are suspect by themselves. */
  confirm_removal: { priority: PRIORITY.conflict, isSuspect: false },
  dead_letter: { priority: PRIORITY.conflict, isSuspect: true },
  not_stored: { priority: PRIORITY.conflict, isSuspect: true },
  /** A bundle made since its last read may contain a variant of it that has changed. */
  component: { priority: PRIORITY.routine, isSuspect: false },
  listed: { priority: PRIORITY.downtime, isSuspect: false },
  /** Webhooks moved a total that reads show without warehouses, or came too close to the read of one. */
  derived: { priority: PRIORITY.routine, isSuspect: true },
  bundle: { priority: PRIORITY.routine, isSuspect: true },
} as const satisfies Readonly<Record<string, Consequence>>;

export type Reason = keyof typeof REASONS;

/** Reason of a row of `due_reads` that says only that a read failed. To the rules it is no request. */
export const READ_FAILED = 'read_failed';
