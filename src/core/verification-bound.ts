/** Scheduled reads read every product within a bound. */
export interface VerificationBound {
  readonly withinMs: number;
  /** The most reads a second that the schedule may cause. */
  readonly maxReadsPerSecond: number;
}
