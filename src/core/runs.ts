import { PRIORITY } from './reasons.ts';

export const RUN_PRIORITY = {
  initial: PRIORITY.downtime,
  downtime: PRIORITY.downtime,
  scheduled: PRIORITY.stale,
  operator: PRIORITY.operator,
  products: PRIORITY.operator,
} as const;

export type RunKind = keyof typeof RUN_PRIORITY;
export const RUN_KINDS = Object.keys(RUN_PRIORITY) as readonly RunKind[];

export const RUN_STATES = ['running', 'done', 'failed'] as const;
export type RunState = (typeof RUN_STATES)[number];

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
  readonly startedSeq: number;
  readonly total: number;
  readonly done: number;
  readonly drift: number;
  readonly failed: number;
  readonly error: string | null;
}
