/** A run, drawn from its seed before it begins, so that a failing one can be shortened. */
import type { DiskFault, DiskName } from './disk.ts';
import type { LifeDeed } from './life-plan.ts';
import type { WayInDeed } from './way-in-plan.ts';

export const OPERATIONS = [
  ...(['adjust', 'add', 'order', 'cancel', 'ship', 'flip', 'burst', 'assemble', 'disassemble'] as const),
  ...(['create_product', 'create_variant', 'add_warehouse', 'remove_warehouse', 'delete_variant'] as const),
  ...(['move_variant', 'delete_product', 'restore_product', 'rename'] as const),
];
export type Operation = (typeof OPERATIONS)[number];
export const STRUCTURE = OPERATIONS.slice(OPERATIONS.indexOf('create_product'));

export const MANGLINGS = [
  ...(['same_request_id', 'unknown_reason', 'extra_fields', 'broken_item', 'broken_neighbour'] as const),
  'broken_json' as const,
];
export type Mangling = 'none' | (typeof MANGLINGS)[number];

export interface Fate {
  readonly lost: boolean;
  readonly delayMs: number;
  readonly againMs: number | null;
  readonly mangling: Mangling;
}

export const READ_FAULTS = [
  ...(['stale', 'slow', 'torn', 'server_error', 'rate_limited', 'unauthorized', 'reset', 'refused'] as const),
  ...(['all_not_found', 'empty_list', 'nonsense'] as const),
  ...(['no_warehouses', 'first_variant', 'listed_twice', 'hidden_warehouse'] as const),
];
export type ReadFault = (typeof READ_FAULTS)[number];
export type DetailFault = 'no_warehouses' | 'first_variant' | 'listed_twice' | 'hidden_warehouse';

export interface SceneDeed {
  readonly do: 'scene';
  readonly scene: Scene;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

export type Action =
  | SceneDeed
  | LifeDeed
  | WayInDeed
  | {
      readonly do: 'operation';
      readonly what: Operation;
      readonly a: number;
      readonly b: number;
      readonly c: number;
      readonly fate: Fate;
    }
  | {
      readonly do: 'future';
      readonly a: number;
      readonly b: number;
      readonly aheadMs: number;
      readonly fate: Fate;
    }
  | { readonly do: 'reads'; readonly fault: ReadFault; readonly probability: number; readonly forMs: number }
  | { readonly do: 'cut'; readonly forMs: number }
  | { readonly do: 'expire_tokens' }
  | { readonly do: 'expire_channel'; readonly forMs: number }
  | { readonly do: 'kill'; readonly effects: number | null; readonly downMs: number }
  | { readonly do: 'stop'; readonly downMs: number }
  | { readonly do: 'stand_still'; readonly forMs: number }
  | { readonly do: 'disk'; readonly of: DiskName | 'both'; readonly fault: DiskFault; readonly forMs: number }
  | {
      readonly do: 'slow_disk';
      readonly of: DiskName | 'both';
      readonly commitMs: number;
      readonly forMs: number;
    }
  | { readonly do: 'mirror_clock'; readonly byMs: number }
  | { readonly do: 'service_clock'; readonly byMs: number }
  | { readonly do: 'resync'; readonly products: number | null }
  | { readonly do: 'unknown_event' }
  | { readonly do: 'unknown_variants'; readonly count: number }
  | { readonly do: 'replay'; readonly back: number }
  | { readonly do: 'back_up' }
  | { readonly do: 'restore'; readonly of: DiskName | 'nothing'; readonly downMs: number };

export interface Step {
  readonly atMs: number;
  readonly action: Action;
}

/**
 * `history`: faults of every kind, each with its exceptions; `lives`: life cycles of process, machine and files, with
 * a store whose answers are true, so that nothing excuses a wrong value except a webhook that the network lost;
 * `stream`: the mirror takes its deliveries from a stream, to which three receivers publish, one of them a second
 * mirror; in every second seed with a store whose answers are true.
 */
export type Kind = 'history' | 'lives' | 'stream';

export interface Plan {
  readonly seed: number;
  readonly kind: Kind;
  /** Room of the passed socket's accept queue; null if the process opens its own socket. */
  readonly socketRoom: number | null;
  /** Receiver and mirror are two processes. */
  readonly isSplit: boolean;
  readonly startMs: number;
  readonly products: number;
  readonly serviceOffsetMs: number;
  readonly nodeSkewMs: number;
  readonly reconcileCron: string | null;
  readonly resyncCron: string | null;
  readonly maxConcurrency: number;
  readonly maxRps: number;
  readonly readLatencyMs: number;
  readonly leavesOutWarehouses: boolean;
  readonly dateAheadMs: number;
  readonly activeMs: number;
  /** Nothing happens but changes, whose webhooks all arrive, and what strangers do. */
  readonly isCalm: boolean;
  /** The store's answers are true, so that nothing excuses a wrong value that is trusted, except a webhook that was lost. */
  readonly isStoreTrue: boolean;
  readonly steps: readonly Step[];
}

export const SCENES = {
  late_after_read: 8_000,
  overlapping_reads: 12_000,
  overlapping_absence: 12_000,
  clock_back: 12_000,
  node_ahead: 8_000,
  moved: 50_000,
  overlapping_move: 15_000,
  untold_burst: 15_000,
  odd_details: 50_000,
  hidden_level: 150_000,
};
export type Scene = keyof typeof SCENES;
export const SCENE_NAMES = Object.keys(SCENES) as Scene[];
