/** The fixed figures of the merge rules. Milliseconds unless the name says otherwise. */

/** Before any real instant: "never". Finite, so that SQLite keeps it as an INTEGER. */
export const EARLIEST_MS = -8_640_000_000_000_000;
/** After any real instant: "not bounded". */
export const LATEST_MS = 8_640_000_000_000_000;

/** A read may be answered by a replica of the store that is this far behind. */
export const REPLICA_LAG_MS = 2_000;
/** How far the clocks of the store's own nodes may stand apart before a bound derived from one is wrong. */
export const NODE_SKEW_MS = 1_000;
/** The `Date` header has whole seconds: the true instant is up to this much later. */
export const DATE_HEADER_STEP_MS = 1_000;

/** So late at most was the promptest of all deliveries of an hour or two, for a clock that is known by them alone. */
export const PROMPT_MS = 2_000;
/** So many changes in a row that came after a read and claim to be from before it: the answers' Date is wrong. */
export const DATE_CONTRADICTIONS = 3;
/** A prompt change that comes so long after a read was made after it: what it leads to says nothing for the Date. */
export const LONG_AFTER_READ_MS = 30_000;

/** A change stamped further ahead of its arrival than this is future-dated: it does not advance the event time. */
export const FUTURE_DATED_AHEAD_MS = 5 * 60_000;

/** Two sightings of an absence must be at least this far apart before anything is tombstoned. */
export const REMOVAL_CONFIRM_MS = 30_000;
/** The mass-removal guard: removing more than both of these at once waits for the operator. */
export const GUARD_ROWS = 20;
export const GUARD_SHARE = 0.05;
/** Removals count towards the guard for this long. */
export const GUARD_WINDOW_MS = 60 * 60_000;

/** So many reads for conflicts in a row follow each other at once; then each one waits twice as long as the one before. */
export const CONFLICT_READS = 3;
export const CONFLICT_PAUSE_MIN_MS = 4_000;
export const CONFLICT_PAUSE_MAX_MS = 15 * 60_000;
/** Longest pause after a read that changes overtook: once they stop, the next read settles the conflict. */
export const OVERTAKEN_PAUSE_MAX_MS = 30_000;
/** Such reads raise the count of conflict reads this far at most: to a pause of 32 s. */
export const OVERTAKEN_READS = 6;
/** A conflict this long after the last read begins a new row, or after twice the pause. */
export const CONFLICT_ROW_MS = 60_000;
/** A removed variant that a new change names: its old product is read first, then the catalogue is searched. */
export const MOVED_LOOKUP_MS = 5_000;

/** How long a gap waits for the late delivery that closes it. */
export const GAP_GRACE_MIN_MS = 2_000;
export const GAP_GRACE_DEFAULT_MS = 3_000;
export const GAP_GRACE_MAX_MS = 6_000;

/** More gaps of one stock level say nothing more; while nothing can be read, each broken chain would add one. */
export const GAPS_OF_A_LEVEL = 100;

/** A changed component sends the bundles to be read after this long, more when there are very many bundles. */
export const BUNDLE_DELAY_MIN_MS = 15_000;
export const BUNDLE_DELAY_MAX_MS = 10 * 60_000;
export const BUNDLE_DELAY_PER_PRODUCT_MS = 100;

/** The lower bound of the clock offset is a maximum over this window and the one before it. */
export const OFFSET_WINDOW_MS = 60 * 60_000;
