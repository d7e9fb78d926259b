/** Runs: scans of the whole catalogue, or reads of named products. */
import { PRIORITY } from './reasons.ts';

/** Every kind of run, and the priority at which it reads its products. */
export const RUN_PRIORITY = {
  initial: PRIORITY.downtime,
  downtime: PRIORITY.downtime,
  restart: PRIORITY.stale,
  scheduled: PRIORITY.stale,
  operator: PRIORITY.operator,
  products: PRIORITY.operator,
} as const;

export type RunKind = keyof typeof RUN_PRIORITY;
export const RUN_KINDS = Object.keys(RUN_PRIORITY) as readonly RunKind[];

export const RUN_STATES = ['running', 'done', 'failed'] as const;
export type RunState = (typeof RUN_STATES)[number];
