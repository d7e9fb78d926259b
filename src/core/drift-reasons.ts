/** Probable reasons of a difference. `derived`: a bundle's total, which changes with its components. */
export const DRIFT_REASONS = ['gap', 'lost_tail', 'downtime', 'order', 'conflict', 'derived'] as const;
export type DriftReason = (typeof DRIFT_REASONS)[number];

export const READ_REASONS = [...DRIFT_REASONS, 'removed', 'restored', 'first_read'] as const;
export type ReadReason = (typeof READ_REASONS)[number];
