/** How a change merges into its stock level (docs/architecture.md#changes). */
import type { Mutant } from '../mutant.ts';

const file = 'src/core/apply/merge-change.ts';

export const CHANGE: readonly Mutant[] = [
  {
    id: 'rule-1-no-request',
    breaks: 'a stock level that a change creates asks for a read (docs/architecture.md#changes, rule 1)',
    file,
    find: `    level: arrival.futureDated ? valued : withEvent(valued, change),
    applied: true,
    requestRead: true,`,
    replace: `    level: arrival.futureDated ? valued : withEvent(valued, change),
    applied: true,
    requestRead: arrival.futureDated,`,
  },
  {
    id: 'rule-2-no-request',
    breaks:
      'a stale change that starts from the present value asks for a read (docs/architecture.md#changes, rule 2)',
    file,
    find: `    level,
    applied: false,
    requestRead: follows,`,
    replace: `    level,
    applied: false,
    requestRead: false,`,
  },
  {
    id: 'rule-2-stale-applied',
    breaks: 'a stale change is ignored (docs/architecture.md#changes, rule 2)',
    file,
    find: `    level,
    applied: false,
    requestRead: follows,`,
    replace: `    level: follows ? { ...level, qty: change.new } : level,
    applied: follows,
    requestRead: false,`,
  },
  {
    id: 'rule-3-tie-is-stale',
    breaks:
      'an equal time is not older (docs/architecture.md#changes, rule 3: a strict comparison drops changes of one instant)',
    file,
    find: 'if (change.updateTimeMs < level.eventTimeMs) return mergeStale',
    replace: 'if (change.updateTimeMs <= level.eventTimeMs) return mergeStale',
  },
  {
    id: 'rule-3-tie-is-newer',
    breaks: 'an equal time is not newer (docs/architecture.md#changes, rule 3: the last to arrive would win)',
    file,
    find: `  if (change.updateTimeMs === level.eventTimeMs) return mergeSameInstant(touched, change, arrival);
`,
    replace: `  if (change.updateTimeMs === level.eventTimeMs && arrival.seq < 0)
    return mergeSameInstant(touched, change, arrival);
`,
  },
  {
    id: 'rule-3-read-forgotten',
    breaks:
      'a change of the same instant that the last read saw is not applied again (docs/architecture.md#changes, rule 3)',
    file,
    find: `  if (change.updateTimeMs < arrival.seenBeforeMs) {
    return { ...keep, branch: '3 seen by the read', requestRead: change.new !== level.qty };
  }
`,
    replace: '',
  },
  {
    id: 'rule-3-seen-no-request',
    breaks:
      'a change of the same instant that a read saw and that differs asks for a read (docs/architecture.md#changes, rule 3 as 4a)',
    file,
    find: "branch: '3 seen by the read', requestRead: change.new !== level.qty }",
    replace: "branch: '3 seen by the read', requestRead: false }",
  },
  {
    id: 'rule-3-unknown-order-no-request',
    breaks: 'an order that cannot be determined asks for a read (docs/architecture.md#changes, rule 3)',
    file,
    find: `  // Neither end fits, or both do (A→B beside B→A).
  return { ...keep, branch: '3 order unknown', level: counted, requestRead: true };`,
    replace: `  return { ...keep, branch: '3 order unknown', level: counted, requestRead: false };`,
  },
  {
    id: 'rule-3-follows-no-request',
    breaks:
      'what follows at an instant that the read may have seen asks for a read (docs/architecture.md#changes, rule 3)',
    file,
    find: 'requestRead: mayBeSeen(level.readHiMs, change, arrival) || level.eventCount > 1,',
    replace: 'requestRead: false,',
    tests: ['test/core/apply/merge-change.test.ts'],
  },
  {
    id: 'rule-3-precedes-forgotten',
    breaks:
      'what precedes becomes the beginning of its instant (docs/architecture.md#changes, rule 3: event_old)',
    file,
    find: "branch: '3 precedes', level: { ...counted, eventOld: change.old } }",
    replace: "branch: '3 precedes', level: counted }",
    tests: ['test/core/apply/merge-change.test.ts'],
  },
  {
    id: 'rule-3-any-order',
    breaks: 'equal times are ordered only while one order alone fits (docs/architecture.md#changes, rule 3)',
    file,
    find: '  if (follows && !precedes) {',
    replace: '  if (follows) {',
  },
  {
    id: 'rule-4a-window-dropped',
    breaks:
      'a change that the read has certainly seen keeps the value (docs/architecture.md#changes, rule 4a)',
    file,
    find: `  if (change.updateTimeMs < arrival.seenBeforeMs) {
    return {
      branch: '4a seen by the read',`,
    replace: `  if (change.updateTimeMs < arrival.seenBeforeMs && arrival.seq < 0) {
    return {
      branch: '4a seen by the read',`,
  },
  {
    id: 'rule-4a-no-request',
    breaks:
      'a change seen by the read that differs from it asks for a read (docs/architecture.md#changes, rule 4a)',
    file,
    find: `      applied: false,
      requestRead: change.new !== level.qty,`,
    replace: `      applied: false,
      requestRead: false,`,
  },
  {
    id: 'rule-4b-window-dropped',
    breaks: 'a change that the read may have seen asks for a read (docs/architecture.md#changes, rule 4b)',
    file,
    find: 'if (mayBeSeen(level.readHiMs, change, arrival)) {',
    replace: 'if (mayBeSeen(level.readLoMs, change, arrival)) {',
  },
  {
    id: 'rule-4b-matching-old-trusted',
    breaks:
      'a matching `old` does not take the request back: A→B→A hides there (docs/architecture.md#changes, rule 4b)',
    file,
    find: `      level: withValue(advanced, change, arrival),
      applied: true,
      requestRead: true,
      gap: brokenChain(level, change),`,
    replace: `      level: withValue(advanced, change, arrival),
      applied: true,
      requestRead: change.old !== level.qty,
      gap: brokenChain(level, change),`,
  },
  {
    id: 'rule-4b-not-applied',
    breaks: 'a change that the read may not have seen is applied (docs/architecture.md#changes, rule 4b)',
    file,
    find: `    if (change.new === level.qty) {
      return { branch: '4b confirmed', level: advanced, applied: false, requestRead: false, gap: null };
    }`,
    replace: `    if (change.old !== level.qty) {
      return { branch: '4b confirmed', level: advanced, applied: false, requestRead: false, gap: null };
    }`,
  },
  {
    id: 'rule-4c-gap-never-opened',
    breaks: 'a broken chain opens a gap (docs/architecture.md#changes, rule 4c)',
    file,
    find: '  return change.old === level.qty ? null : { fromQty: level.qty, toQty: change.old };',
    replace:
      '  return change.old === level.qty || level.qty >= -1e9 ? null : { fromQty: level.qty, toQty: change.old };',
  },
  {
    id: 'event-time-falls',
    breaks: 'the event time never falls (docs/architecture.md#changes, rule 2)',
    file,
    find: `  return {
    branch: follows ? '2 stale, yet follows' : '2 stale',
    level,`,
    replace: `  return {
    branch: follows ? '2 stale, yet follows' : '2 stale',
    level: withEvent(level, change),`,
  },
  {
    id: 'ahead-of-the-read-trusted',
    breaks:
      'a stamp after its own arrival tells no order against a read (docs/architecture.md#future-dated-changes)',
    file: 'src/core/merge/change-outcome.ts',
    find: 'return change.updateTimeMs <= hiMs || (ahead && hiMs > EARLIEST_MS);',
    replace: 'return change.updateTimeMs <= hiMs || (ahead && hiMs < EARLIEST_MS);',
    first: 'simulation',
    tests: ['test/core/apply/found-wrong.test.ts'],
  },
  {
    id: 'future-dated-advances-event-time',
    breaks:
      'a stamp far in the future does not advance the event time (docs/architecture.md#future-dated-changes)',
    file,
    find: `      branch: 'poison',
      level: withValue(touched, change, arrival),`,
    replace: `      branch: 'poison',
      level: withEvent(withValue(touched, change, arrival), change),`,
    tests: ['test/core/apply/merge-change.test.ts'],
  },
  {
    id: 'future-dated-no-request',
    breaks: 'a stamp far in the future asks for a read (docs/architecture.md#future-dated-changes)',
    file,
    find: `      level: withValue(touched, change, arrival),
      applied: true,
      requestRead: true,`,
    replace: `      level: withValue(touched, change, arrival),
      applied: true,
      requestRead: false,`,
  },
  {
    id: 'tombstone-forgotten',
    breaks: 'a late webhook does not resurrect what was removed (docs/architecture.md#removals)',
    file: 'src/core/apply/tombstone.ts',
    find: `    level: isNewer && level.missingAtMs === null ? { ...advanced, missingAtMs: arrival.atMs } : advanced,
    applied: false,`,
    replace: `    level: { ...withValue(level, change, arrival), goneAtMs: null },
    applied: true,`,
  },
  {
    id: 'tombstone-no-request',
    breaks:
      'a change that the removing read may not have seen asks for another read (docs/architecture.md#removals)',
    file: 'src/core/apply/tombstone.ts',
    find: '    requestRead: !seen,',
    replace: '    requestRead: false,',
  },
  {
    id: 'tombstone-of-variant-forgotten',
    breaks: 'a new warehouse of a removed variant stays removed with it (docs/architecture.md#removals)',
    file,
    find: '  if (arrival.variantGoneAtMs !== null) {',
    replace: '  if (arrival.variantGoneAtMs !== null && arrival.seq < 0) {',
    first: 'simulation',
  },
];
