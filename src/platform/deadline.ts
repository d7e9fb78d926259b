export interface Deadline {
  /** Aborts when the time is over, or with the outer signal. */
  readonly signal: AbortSignal;
  isOver(): boolean;
  /** Lets go of the timer and of the outer signal. Call it when the work is done. */
  release(): void;
}

/**
 * Limits work in time. `AbortSignal.timeout` with another signal keeps its timer until the time is over, long after the
 * work: with a thousand requests a second of 30 s each, 30,000 of them.
 *
 * @param outer ends the work early.
 */
export function startDeadline(ms: number, outer?: AbortSignal): Deadline {
  const work = new AbortController();
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    work.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  }, ms);
  timer.unref();
  const end = (): void => work.abort(outer?.reason);
  if (outer?.aborted === true) end();
  else outer?.addEventListener('abort', end, { once: true });
  return {
    signal: work.signal,
    isOver: () => isOver,
    release: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', end);
    },
  };
}
