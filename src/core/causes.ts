/** What a change of the feed that a read has made says of its cause, in its `reason`. */

/** Probable causes of a difference. `derived`: a bundle's total, which moves with its components. */
export const DRIFT_CAUSES = ['gap', 'lost_tail', 'downtime', 'conflict', 'derived'] as const;
export type DriftCause = (typeof DRIFT_CAUSES)[number];

/** Why a read corrected what the mirror showed. */
export const CORRECTION_CAUSES = [...DRIFT_CAUSES, 'removed', 'restored'] as const;
export type CorrectionCause = (typeof CORRECTION_CAUSES)[number];

export const READ_REASONS = [...CORRECTION_CAUSES, 'first_read'] as const;
export type ReadReason = (typeof READ_REASONS)[number];
