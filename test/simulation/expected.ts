/** Faults and branches that a few hundred seeds must have covered. */
import { DRIFT_REASONS } from '../../src/core/drift-reasons.ts';
import type { Fact } from '../../src/core/apply/fact.ts';
import { REASONS } from '../../src/core/reasons.ts';
import { CHANGE_BRANCHES } from '../../src/core/merge/change-outcome.ts';
import { LEVEL_BRANCHES } from '../../src/core/merge/merge-read.ts';
import { DISKS, type DiskFault } from './disk.ts';
import { DAMAGES } from './life-plan.ts';
import { MANGLINGS, OPERATIONS, READ_FAULTS, SCENE_NAMES } from './plan.ts';

const DISK_FAULTS: Record<DiskFault, true> = { locked: true, full: true, unsynced: true };

/** Covered elsewhere: another store, runs, pruning, and what must never happen. */
const FACTS: Record<
  Exclude<Fact['kind'], 'change' | 'level' | 'wrong_store' | 'run_begun' | 'pruned' | 'defect'>,
  true
> = {
  gap_opened: true,
  gap_closed: true,
  gap_proved: true,
  compared: true,
  read_requested: true,
  met: true,
  loss_suspected: true,
  drift: true,
  dead_letter: true,
  missing: true,
  removed: true,
  contested: true,
  removals_held: true,
  removals_allowed: true,
  moved: true,
  not_found: true,
  clock_contradiction: true,
  date: true,
};

const OTHERS = [
  ...['lost delivery', 'late delivery', 'delivery late by minutes', 'repeated delivery', 'replayed delivery'],
  ...[
    'unknown event',
    'unknown variants',
    'timestamp ahead',
    'future-dated timestamp',
    'no way to the service',
  ],
  ...['all tokens expired', 'credentials refused', 'kill', 'kill between two effects', 'orderly stop'],
  ...['the process stands still', 'slow disk', "mirror's clock set back", "mirror's clock set forward"],
  ...["service's clock set back", "service's clock set forward", 'operator reads everything'],
  ...[
    'operator reads products',
    'backup',
    'restored backup (inbox)',
    'restored mirror',
    'the mirror is lost',
  ],
  ...['epochs after the first', 'the guard held', 'removals checked', 'token requests'],
  ...['answered 204', 'answered 503'],
];

const LIFE_CYCLES = [
  'life: stop',
  'life: kill',
  'life: power_cut',
  'life: reboot',
  'the machine is suspended',
  'copy kept',
  'settings changed',
  'secret replaced',
  'the process ended by itself',
  'the operator removed a file',
  ...DISKS.flatMap((disk) =>
    DAMAGES.filter((how) => how !== 'backup' || disk === 'mirror').map((how) => `files: ${how} ${disk}`),
  ),
];

const EXPECTED: readonly string[] = [
  ...CHANGE_BRANCHES.map((branch) => `change: ${branch}`),
  ...LEVEL_BRANCHES.filter((branch) => branch !== 'superseded, unknown level').map(
    (branch) => `level: ${branch}`,
  ),
  ...Object.keys(FACTS).map((kind) => `fact: ${kind}`),
  ...DRIFT_REASONS.map((reason) => `drift: ${reason}`),
  ...Object.keys(REASONS).map((reason) => `read_requested: ${reason}`),
  ...OPERATIONS.map((what) => `operation: ${what}`),
  ...MANGLINGS.map((what) => `body: ${what}`),
  ...READ_FAULTS.map((fault) => `reads: ${fault}`),
  ...SCENE_NAMES.map((scene) => `scene: ${scene}`),
  ...DISKS.flatMap((disk) => Object.keys(DISK_FAULTS).map((fault) => `disk: ${disk} ${fault}`)),
  ...OTHERS,
  ...LIFE_CYCLES,
];

export const ENOUGH_SEEDS = 400;

export function neverHappened(counts: Readonly<Record<string, number>>): string[] {
  return EXPECTED.filter((what) => (counts[what] ?? 0) === 0);
}
