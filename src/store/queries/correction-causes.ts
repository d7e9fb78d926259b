/** Why a read's correction was due. `derived`: a bundle's total, which moves with its components. */
export const CORRECTION_CAUSES = [
  'gap',
  'lost_tail',
  'downtime',
  'conflict',
  'derived',
  'removed',
  'restored',
] as const;
export type CorrectionCause = (typeof CORRECTION_CAUSES)[number];
