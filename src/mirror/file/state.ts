/** The mirror's state, and why it is not live: the view `state_cause` decides, everything else asks it. */

export const MIRROR_STATES = ['live', 'catching_up', 'stale'] as const;
export type MirrorState = (typeof MIRROR_STATES)[number];

/** What speaks against `live`, the gravest first, and the state that follows. */
export const STATE_OF_CAUSE = {
  /** The mirror was stopped in order. */
  stopped: 'stale',
  /** The heartbeat stands still. */
  no_heartbeat: 'stale',
  /** The catalogue was never read whole in this epoch. */
  first_read: 'catching_up',
  /** A product was not read since the last downtime. */
  downtime: 'catching_up',
  /** A re-read request that makes rows suspect is old. */
  waiting: 'stale',
  /** More reads are given up than can be the fault of single products. */
  given_up: 'stale',
} as const satisfies Readonly<Record<string, MirrorState>>;
export type StateCause = keyof typeof STATE_OF_CAUSE;
export const STATE_CAUSES = Object.keys(STATE_OF_CAUSE) as StateCause[];

/** Between the branches in `deliveries.outcomes`. */
export const OUTCOME_SEPARATOR = '|';

/** An older heartbeat is none: it is written every second. */
export const HEARTBEAT_MS = 10_000;
/** An older re-read request is too old. */
export const WAITING_MS = 15 * 60_000;
