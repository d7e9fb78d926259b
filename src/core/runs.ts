import type { DriftReason } from './drift-reasons.ts';
import { PRIORITY } from './reasons.ts';

export const RUN_PRIORITY = {
  initial: PRIORITY.downtime,
  downtime: PRIORITY.downtime,
  scheduled: PRIORITY.routine,
  /** Lists the catalogue and reads only products that the mirror does not know. */
  search: PRIORITY.routine,
  operator: PRIORITY.operator,
  products: PRIORITY.operator,
} as const;

export type RunKind = keyof typeof RUN_PRIORITY;
export const RUN_KINDS = Object.keys(RUN_PRIORITY) as readonly RunKind[];

export const RUN_STATES = ['running', 'done', 'failed'] as const;
export type RunState = (typeof RUN_STATES)[number];

export type Differences = Readonly<Partial<Record<DriftReason, number>>>;

export interface Run {
  readonly id: number;
  readonly kind: RunKind;
  readonly state: RunState;
  readonly startedAtMs: number;
  readonly finishedAtMs: number | null;
  readonly readAfterMs: number;
  readonly productIds: readonly string[] | null;
  readonly listOffset: number;
  readonly listLastId: string | null;
  readonly listDone: boolean;
  /** Rows that the store could not list, in words; null if there are none. */
  readonly listGap: string | null;
  readonly total: number;
  readonly done: number;
  /** Values of the products that it read: totals of variants, and quantities of warehouses. */
  readonly compared: number;
  /** Differences that reads found and corrected while it ran, by probable reason. */
  readonly differences: Differences;
  /** Quantities that reads removed while it ran. */
  readonly removed: number;
  /** The operator who allowed removals with it, and the reason; null if removals were not allowed. */
  readonly allowedBy: string | null;
  readonly allowedWhy: string | null;
  readonly failed: number;
  readonly error: string | null;
}

/** It reads every product. */
export function isFullRead({ kind, productIds }: Pick<Run, 'kind' | 'productIds'>): boolean {
  return productIds === null && kind !== 'search';
}

export function countDifferences(differences: Differences): number {
  return Object.values(differences).reduce((sum, count) => sum + count, 0);
}

/** Failures of one product while the store answered other requests, after which no run waits for it. */
const GIVE_UP_FAULTS = 10;

export function isGivenUp(read: { readonly parked: boolean; readonly faults: number }): boolean {
  return read.parked || read.faults >= GIVE_UP_FAULTS;
}

const ISOLATED_ONE_IN = 20;

/** Up to 5 % of the products, or one, may be broken in the store; beyond that, the mirror is stale. */
export function isIsolated(givenUp: number, products: number): boolean {
  return (
    givenUp === 0 || (givenUp < products && givenUp <= Math.max(1, Math.floor(products / ISOLATED_ONE_IN)))
  );
}
