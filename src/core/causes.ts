/** Probable causes of a difference. `derived`: a bundle's total, which changes with its components. */
export const DRIFT_CAUSES = ['gap', 'lost_tail', 'downtime', 'conflict', 'derived'] as const;
export type DriftCause = (typeof DRIFT_CAUSES)[number];

export const READ_REASONS = [...DRIFT_CAUSES, 'removed', 'restored', 'first_read'] as const;
export type ReadReason = (typeof READ_REASONS)[number];
