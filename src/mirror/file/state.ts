export const MIRROR_STATES = ['live', 'catching_up', 'stale'] as const;
export type MirrorState = (typeof MIRROR_STATES)[number];

export const OUTCOME_SEPARATOR = '|';

/**
 * The heartbeat is written every second. An older one counts as none, and so does one as far in the future:
 * the wall clock was set back after the process had ended, and its heartbeat would look young for as long as
 * the step. `SILENT_MS` (src/stream/heard-hosts.ts) was chosen to fit it: change both.
 */
export const HEARTBEAT_VALID_MS = 10_000;

const NOW_MS = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)";

/** Only a running process vouches for the values. */
const IS_SILENT = `(
    service_state.alive_at_ms IS NULL
    OR abs(service_state.alive_at_ms - ${NOW_MS}) > ${HEARTBEAT_VALID_MS}
  )`;

/** What the main thread decided, while it beats: the only rule for readers. */
export const STATE = `CASE WHEN ${IS_SILENT} THEN 'stale' ELSE service_state.state END`;
export const STATE_CAUSE = `CASE WHEN ${IS_SILENT} THEN 'stopped' ELSE service_state.state_cause END`;
export const CAUSES_JSON = `CASE
    WHEN ${IS_SILENT} THEN '[{"code":"stopped","since":' || coalesce(service_state.alive_at_ms, 'null') || '}]'
    ELSE service_state.causes_json
  END`;

const whole = (code: 'starting' | 'stopped'): string =>
  `state = 'stale', state_cause = '${code}', causes_json = '[{"code":"${code}"}]'`;

/** Assignments of a start, until the first heartbeat, and of an orderly stop. */
export const STARTING = whole('starting');
export const STOPPED = whole('stopped');
