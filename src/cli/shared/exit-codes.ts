/** The exit codes of every command (docs/operating.md#commands). */
export const EXIT = {
  done: 0,
  /** The work failed, or a comparison found a difference. */
  failed: 1,
  /** Wrong usage or configuration: running it again as it is cannot help. */
  usage: 2,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;
