/** The exit codes of every command (docs/operating.md#run). */
export const EXIT = {
  done: 0,
  /** Also: a comparison found a difference. */
  failed: 1,
  usage: 2,
  interrupted: 130,
} as const;
