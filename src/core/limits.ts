/** Constants of the merge rules, in milliseconds unless the name says otherwise. */

/** Before any real instant: "never". Finite, so that SQLite stores an INTEGER. */
export const EARLIEST_MS = -8_640_000_000_000_000;
/** After any real instant: "unbounded". */
export const LATEST_MS = 8_640_000_000_000_000;
/** `notBeforeMs` of a read request that the mass-removal guard holds until an operator decides. */
export const HELD_MS = LATEST_MS;

/** How far behind a replica of the store that answers a read may be. */
export const REPLICA_LAG_MS = 2_000;
/** How far apart the clocks of the store's nodes may be. */
export const NODE_SKEW_MS = 1_000;
/** The `Date` header has whole seconds: the true instant is up to this much later. */
export const DATE_HEADER_STEP_MS = 1_000;

/** Upper bound for the latency of the fastest delivery of an hour or two. */
export const PROMPT_MS = 2_000;
/**
 * Consecutive changes that came after a read but claim to
 * predate it, until the `Date` header counts as wrong.
 */
export const DATE_CONTRADICTIONS = 3;
/**
 * A prompt change this long after a read was made after it, so
 * its value proves nothing about the `Date` header.
 */
export const LONG_AFTER_READ_MS = 30_000;

/** A change stamped further ahead of its arrival than this does not advance the event time. */
export const FUTURE_DATED_AHEAD_MS = 5 * 60_000;

export const REMOVAL_CONFIRM_MS = 30_000;
/** How often a product that answers 404 is read while no complete list confirms that it is gone. */
export const REMOVAL_RECHECK_MS = 5 * 60_000;
/** The mass-removal guard holds removals that exceed both of these, until the operator decides. */
export const GUARD_QUANTITIES = 50;
export const GUARD_SHARE = 0.05;
export const GUARD_WINDOW_MS = 60 * 60_000;

/** Bodies that are not understood and name no variant make everything suspect at most this often. */
export const UNREADABLE_PAUSE_MS = 15 * 60_000;
/** Consecutive conflict reads without a pause; each further pause is twice the last one. */
export const CONFLICT_READS = 3;
export const CONFLICT_PAUSE_MIN_MS = 4_000;
export const CONFLICT_PAUSE_MAX_MS = 15 * 60_000;
/** Longest pause after a read that a further conflict overtook: once they stop, the next read settles them. */
export const OVERTAKEN_PAUSE_MAX_MS = 30_000;
/** Overtaken reads raise the count of conflict reads to this at most: a pause of 32 s. */
export const OVERTAKEN_READS = 6;
/** Pause between reads of a product that its own changes ask for: most of these settle what the read left open. */
export const OWN_CHANGES_PAUSE_MS = 10_000;
/** A conflict at least this long after the last read, and twice the pause, restarts the count. */
export const CONFLICT_ROW_MS = 60_000;
/** After a change names a removed variant: time to read its old product before the catalogue is searched. */
export const MOVED_LOOKUP_MS = 5_000;

/**
 * How long a gap waits for the late delivery that closes it. Never shorter than a replica's lag: the read that is sent
 * after the grace would not meet the gap, and would be repeated.
 */
export const GAP_GRACE_MIN_MS = REPLICA_LAG_MS;
export const GAP_GRACE_MAX_MS = 6_000;

/** While nothing can be read, each broken chain would add a gap; more than this say nothing new. */
export const GAPS_OF_A_LEVEL = 100;

/** Delay between a component's change and the reads of the bundles. */
export const BUNDLE_DELAY_MIN_MS = 15_000;
export const BUNDLE_DELAY_MAX_MS = 10 * 60_000;
export const BUNDLE_DELAY_PER_PRODUCT_MS = 100;

/** The lower bound of the clock offset is a maximum over this window and the previous one. */
export const OFFSET_WINDOW_MS = 60 * 60_000;
