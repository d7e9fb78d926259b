export const EXIT = {
  done: 0,
  /** Also for a comparison that found a difference. */
  failed: 1,
  usage: 2,
  interrupted: 130,
} as const;
