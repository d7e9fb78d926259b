/** What is known of the clocks (docs/architecture.md#clock-bounds; docs/architecture.md#downtime). */
import type { Mutant } from '../mutant.ts';

const file = 'src/core/merge/clock-bounds.ts';

export const CLOCK: readonly Mutant[] = [
  {
    id: 'offset-floor-sign',
    breaks:
      'the running maximum of update_time − arrival is a lower bound of the offset (docs/architecture.md#clock-bounds)',
    file,
    find: 'const bound = updateTimeMs - arrivedAtMs;',
    replace: 'const bound = arrivedAtMs - updateTimeMs;',
    tests: ['test/core/merge/clock-bounds.test.ts'],
  },
  {
    id: 'offset-floor-is-minimum',
    breaks: 'of all lower bounds the greatest counts (docs/architecture.md#clock-bounds)',
    file,
    find: 'if (floor.offsetFloorMs !== null && floor.offsetFloorMs >= bound) return floor;',
    replace: 'if (floor.offsetFloorMs !== null && floor.offsetFloorMs <= bound) return floor;',
    tests: ['test/core/merge/clock-bounds.test.ts'],
  },
  {
    id: 'offset-ceiling-sign',
    breaks: "the answer's Date is an upper bound of the offset (docs/architecture.md#clock-bounds)",
    file,
    find: 'serverDateMs === null ? null : serverDateMs + DATE_HEADER_STEP_MS - sentAtMs;',
    replace: 'serverDateMs === null ? null : sentAtMs + DATE_HEADER_STEP_MS - serverDateMs;',
  },
  {
    id: 'offset-ignored',
    breaks:
      "a read is placed in the store's clock, not in this machine's (docs/architecture.md#clock-bounds)",
    file,
    find: 'sentAtMs + Math.max(...floors) - REPLICA_LAG_MS,',
    replace: 'sentAtMs - REPLICA_LAG_MS,',
  },
  {
    id: 'window-without-lag',
    breaks: 'a replica may be 2 s behind what the window says (docs/architecture.md#clock-bounds)',
    file,
    find: 'sentAtMs + Math.max(...floors) - REPLICA_LAG_MS,',
    replace: 'sentAtMs + Math.max(...floors),',
    tests: ['test/core/merge/clock-bounds.test.ts'],
  },
  {
    id: 'unknown-offset-is-none',
    breaks:
      'unknown bounds make the window infinite: slower, never wrong (docs/architecture.md#clock-bounds)',
    file,
    find: 'loMs: floors.length === 0 ? EARLIEST_MS : sentAtMs',
    replace: 'loMs: floors.length === 0 ? sentAtMs : sentAtMs',
    tests: ['test/core/merge/clock-bounds.test.ts'],
  },
  {
    id: 'contradiction-ignored',
    breaks: 'bounds that contradict each other make the window infinite (docs/architecture.md#clock-bounds)',
    file,
    find: 'return { loMs: EARLIEST_MS, hiMs: LATEST_MS, ceilingMs, dateContradictions: contradictions, contradicts };',
    replace:
      'return { loMs: sentAtMs, hiMs: receivedAtMs, ceilingMs, dateContradictions: contradictions, contradicts };',
    first: 'simulation',
    tests: ['test/core/merge/clock-bounds.test.ts'],
  },
  {
    id: 'floor-learnt-from-a-clock-ahead',
    breaks: 'a node that is ahead teaches nothing about the others (docs/architecture.md#clock-bounds)',
    file: 'src/core/apply/apply-delivery.ts',
    find: 'if (!futureDated && !ahead) {',
    replace: 'if (!futureDated) {',
    tests: ['test/core/apply/found-wrong.test.ts'],
  },
  {
    id: 'wrong-date-believed',
    breaks: 'a Date that changes keep contradicting is dropped (docs/architecture.md#clock-bounds)',
    file,
    find: 'dateContradictions: Math.min(DATE_CONTRADICTIONS, dateContradictions + 1) };',
    replace: 'dateContradictions };',
    first: 'simulation',
    tests: ['test/core/apply/found-wrong.test.ts'],
  },
  {
    id: 'right-date-dropped',
    breaks:
      'late changes that reads have seen do not speak against a Date (docs/architecture.md#clock-bounds)',
    file,
    find: 'if (!isPrompt || change.old !== level.qty) return { dateContradictions };',
    replace: '',
    tests: ['test/core/apply/found-wrong.test.ts'],
  },
  {
    id: 'date-believed-by-there-and-back',
    breaks:
      'a level back at what a read long ago showed is no evidence for its Date (docs/architecture.md#clock-bounds)',
    file,
    find: 'change.new === level.qty && !(isPrompt && isLongAfterRead)',
    replace: 'change.new === level.qty',
    tests: ['test/core/apply/found-wrong.test.ts'],
  },
  {
    id: 'date-never-believed-again',
    breaks: 'a Date that agrees with the arrivals counts again (docs/architecture.md#clock-bounds)',
    file,
    find: 'const contradictions = agrees ? 0 : dateContradictions;',
    replace: 'const contradictions = dateContradictions;',
    tests: ['test/core/apply/found-wrong.test.ts'],
  },
  {
    id: 'low-watermark-of-a-wrong-date',
    breaks:
      'a level read before its Date was found wrong shows a prompt change at once (docs/architecture.md#clock-bounds)',
    file,
    find: 'return Math.min(level.readLoMs, level.verifiedAtMs + floorMs + PROMPT_MS);',
    replace: 'return level.readLoMs;',
    tests: ['test/core/apply/found-wrong.test.ts'],
  },
  {
    id: 'future-dated-not-seen',
    breaks:
      'a time more than 5 minutes ahead makes a future-dated change (docs/architecture.md#future-dated-changes)',
    file,
    find: 'return updateTimeMs > arrivedAtMs + offsetMs + FUTURE_DATED_AHEAD_MS;',
    replace: 'return updateTimeMs > arrivedAtMs + offsetMs + 1e6 * FUTURE_DATED_AHEAD_MS;',
    first: 'simulation',
  },
  {
    id: 'steady-clock-follows-back',
    breaks:
      "the mirror's clock never goes back with the wall clock (docs/architecture.md#clock-bounds: instants 2 s apart are compared)",
    file: 'src/app/steady-clock.ts',
    find: 'const slewMs = Math.min(elapsedMs * SLEW, Math.max(-elapsedMs * SLEW, behindMs));',
    replace: 'const slewMs = Math.min(elapsedMs * SLEW, behindMs);',
    first: 'simulation',
    tests: ['test/app/steady-clock.test.ts'],
  },
  {
    id: 'start-before-the-record',
    breaks: 'a start begins no earlier than the last recorded instant (docs/architecture.md#downtime)',
    file: 'src/app/clock.ts',
    find: 'nowMs: Math.max(Date.now(), notBeforeMs)',
    replace: 'nowMs: Math.min(Date.now(), Math.max(Date.now(), notBeforeMs))',
    first: 'simulation',
    tests: ['test/reconcile/clock.test.ts'],
  },
  {
    id: 'downtime-not-marked',
    breaks: 'after downtime every row is suspect until it was read (docs/architecture.md#downtime)',
    file: 'src/core/apply/apply-entry.ts',
    find: 'work.state = { ...work.state, trustedAfterMs: entry.atMs + REPLICA_LAG_MS };',
    replace: 'work.state = { ...work.state, lastDeliveryAtMs: entry.atMs };',
    first: 'simulation',
  },
  {
    id: 'downtime-within-lag',
    breaks:
      'what is read after downtime comes from no replica that lags behind its end (docs/architecture.md#downtime)',
    file: 'src/core/apply/apply-entry.ts',
    find: 'work.state = { ...work.state, trustedAfterMs: entry.atMs + REPLICA_LAG_MS };',
    replace: 'work.state = { ...work.state, trustedAfterMs: entry.atMs };',
    first: 'simulation',
    tests: ['test/mirror/queries/suspicion.test.ts'],
  },
  {
    id: 'silence-not-repaired',
    breaks: 'a start after silence reads every product again (docs/architecture.md#downtime)',
    file: 'src/reconcile/reconciler.ts',
    find: 'silenceMs !== null && silenceMs > DOWNTIME_MS;',
    replace: 'silenceMs !== null && silenceMs > 1_000 * DOWNTIME_MS;',
    first: 'simulation',
    tests: ['test/process/life/downtime.slow.test.ts'],
  },
  {
    id: 'short-pause-not-repaired',
    breaks: 'a start after a short pause reads every product too (docs/architecture.md#downtime)',
    file: 'src/reconcile/reconciler.ts',
    find: "await this.#beginScan(isFirst ? 'initial' : kind);",
    replace: "if (isFirst || isDowntime) await this.#beginScan(isFirst ? 'initial' : kind);",
    first: 'simulation',
    tests: ['test/process/life/downtime.slow.test.ts'],
  },
];
