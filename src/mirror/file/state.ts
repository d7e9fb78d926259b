/** The mirror's state, and why it is not live: the view `state_cause` decides, everything else asks it. */

export const MIRROR_STATES = ['live', 'catching_up', 'stale'] as const;
export type MirrorState = (typeof MIRROR_STATES)[number];

/** Why the mirror is not live, as far as its file shows, most urgent first, and the state that follows (ops/state/causes.ts). */
export const STATE_OF_CAUSE = {
  /** The mirror was stopped in order. */
  stopped: 'stale',
  /** The last heartbeat is old. */
  no_heartbeat: 'stale',
  /** The mass-removal guard holds removals. */
  held_removals: 'stale',
  /** The catalogue was never read whole in this epoch. */
  first_read: 'catching_up',
  /** A product was not read since the last downtime. */
  downtime: 'catching_up',
  /** A read request that makes rows suspect is old. */
  reads_overdue: 'stale',
  /** More reads are given up than single products can explain. */
  refused_products: 'stale',
} as const satisfies Readonly<Record<string, MirrorState>>;
export type StateCause = keyof typeof STATE_OF_CAUSE;
export const STATE_CAUSES = Object.keys(STATE_OF_CAUSE) as StateCause[];

/** Between the branches in `deliveries.outcomes`. */
export const OUTCOME_SEPARATOR = '|';

/** An older heartbeat is none: it is written every second. */
export const HEARTBEAT_MS = 10_000;
/** An older re-read request is too old. */
export const WAITING_MS = 15 * 60_000;
