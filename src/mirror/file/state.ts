export const MIRROR_STATES = ['live', 'catching_up', 'stale'] as const;
export type MirrorState = (typeof MIRROR_STATES)[number];

/** Causes visible in the file, most urgent first, with the resulting state (ops/state/causes.ts). */
export const STATE_OF_CAUSE = {
  stopped: 'stale',
  no_heartbeat: 'stale',
  held_removals: 'stale',
  first_read: 'catching_up',
  downtime: 'catching_up',
  reads_overdue: 'stale',
  /** More reads are given up than faults of single products explain. */
  refused_products: 'stale',
} as const satisfies Readonly<Record<string, MirrorState>>;
export type StateCause = keyof typeof STATE_OF_CAUSE;
export const STATE_CAUSES = Object.keys(STATE_OF_CAUSE) as StateCause[];

export const OUTCOME_SEPARATOR = '|';

/** An older heartbeat counts as none; it is written every second. */
export const HEARTBEAT_MS = 10_000;
export const WAITING_MS = 15 * 60_000;
