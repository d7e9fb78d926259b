/** Faults and branches that a few hundred seeds must have covered. */
import type { DriftCause } from '../../src/core/causes.ts';
import type { Fact } from '../../src/core/apply/fact.ts';
import type { Reason } from '../../src/core/reasons.ts';
import { CHANGE_BRANCHES } from '../../src/core/merge/change-outcome.ts';
import { LEVEL_BRANCHES } from '../../src/core/merge/merge-read.ts';
import { DISKS, type DiskFault } from './disk.ts';
import { SCENE_NAMES, type Mangling, type Operation, type ReadFault } from './plan.ts';

const OPERATIONS: Record<Operation, true> = {
  adjust: true,
  add: true,
  order: true,
  cancel: true,
  ship: true,
  flip: true,
  burst: true,
  assemble: true,
  disassemble: true,
  create_product: true,
  create_variant: true,
  add_warehouse: true,
  remove_warehouse: true,
  delete_variant: true,
  move_variant: true,
  delete_product: true,
  restore_product: true,
  rename: true,
};

const MANGLINGS: Record<Exclude<Mangling, 'none'>, true> = {
  same_request_id: true,
  unknown_reason: true,
  extra_fields: true,
  broken_item: true,
  broken_neighbour: true,
  broken_json: true,
};

const READ_FAULTS: Record<ReadFault, true> = {
  stale: true,
  slow: true,
  torn: true,
  server_error: true,
  rate_limited: true,
  unauthorized: true,
  reset: true,
  refused: true,
  all_not_found: true,
  empty_list: true,
  nonsense: true,
  no_warehouses: true,
  first_variant: true,
  listed_twice: true,
  hidden_warehouse: true,
};

const DISK_FAULTS: Record<DiskFault, true> = { locked: true, full: true, unsynced: true };

/** Covered elsewhere: another store, runs and pruning. */
const FACTS: Record<
  Exclude<Fact['kind'], 'change' | 'level' | 'wrong_store' | 'run_begun' | 'pruned'>,
  true
> = {
  gap_opened: true,
  gap_closed: true,
  gap_proved: true,
  read_requested: true,
  met: true,
  loss_suspected: true,
  drift: true,
  unmapped: true,
  dead_letter: true,
  missing: true,
  removed: true,
  contested: true,
  removals_held: true,
  moved: true,
  not_found: true,
  clock_contradiction: true,
  date: true,
};

const DRIFTS: Record<DriftCause, true> = {
  gap: true,
  lost_tail: true,
  downtime: true,
  conflict: true,
  derived: true,
};

const REASONS: Record<Reason, true> = {
  operator: true,
  unmapped: true,
  conflict: true,
  derived: true,
  confirm_removal: true,
  dead_letter: true,
  not_stored: true,
  bundle: true,
  listed: true,
  stale: true,
};

const OTHERS = [
  'lost delivery',
  'late delivery',
  'delivery late by minutes',
  'repeated delivery',
  'replayed delivery',
  'unknown event',
  'timestamp ahead',
  'future-dated timestamp',
  'no way to the service',
  'all tokens expired',
  'credentials refused',
  'kill',
  'kill between two effects',
  'orderly stop',
  'the process stands still',
  'slow disk',
  "mirror's clock set back",
  "mirror's clock set forward",
  "service's clock set back",
  "service's clock set forward",
  'operator reads everything',
  'operator reads products',
  'backup',
  'restored backup (inbox)',
  'restored mirror',
  'the mirror is lost',
  'epochs after the first',
  'the guard held',
  'removals checked',
  'token requests',
  'answered 204',
  'answered 503',
];

const EXPECTED: readonly string[] = [
  ...CHANGE_BRANCHES.map((branch) => `change: ${branch}`),
  ...LEVEL_BRANCHES.filter((branch) => branch !== 'superseded, unknown level').map(
    (branch) => `level: ${branch}`,
  ),
  ...Object.keys(FACTS).map((kind) => `fact: ${kind}`),
  ...Object.keys(DRIFTS).map((cause) => `drift: ${cause}`),
  ...Object.keys(REASONS).map((reason) => `read_requested: ${reason}`),
  ...Object.keys(OPERATIONS).map((what) => `operation: ${what}`),
  ...Object.keys(MANGLINGS).map((what) => `body: ${what}`),
  ...Object.keys(READ_FAULTS).map((fault) => `reads: ${fault}`),
  ...SCENE_NAMES.map((scene) => `scene: ${scene}`),
  ...DISKS.flatMap((disk) => Object.keys(DISK_FAULTS).map((fault) => `disk: ${disk} ${fault}`)),
  ...OTHERS,
];

export const ENOUGH_SEEDS = 400;

export function neverHappened(counts: Readonly<Record<string, number>>): string[] {
  return EXPECTED.filter((what) => (counts[what] ?? 0) === 0);
}
