/** Waiting that ends early: when there is work, or when the mirror stops. */
export interface Pause {
  /** Ends the wait under way, or lets the next one pass at once. */
  wake(): void;
  /** Resolves after `ms`, when woken, or when stopped. */
  wait(ms: number): Promise<void>;
  /** Lets every present and future wait pass at once. */
  stop(): void;
}

export function createPause(): Pause {
  let woken = false;
  let stopped = false;
  let resume: (() => void) | null = null;
  const wake = (): void => {
    woken = true;
    resume?.();
  };
  return {
    wake,
    async wait(ms: number): Promise<void> {
      if (!woken && !stopped) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          resume = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        resume = null;
      }
      woken = false;
    },
    stop(): void {
      stopped = true;
      wake();
    },
  };
}
