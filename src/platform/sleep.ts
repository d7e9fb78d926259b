/** Waiting that a signal ends. On the global timer, which a simulation has in its hands. */

/** @throws the signal's reason. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await timerOrAbort(ms, signal, (timer) => timer);
  signal.throwIfAborted();
}

/** Resolves after `ms`, or once aborted. The process is not kept for its sake. */
export async function rest(ms: number, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await timerOrAbort(ms, signal, (timer) => timer.unref());
}

function timerOrAbort(
  ms: number,
  signal: AbortSignal,
  hold: (timer: NodeJS.Timeout) => NodeJS.Timeout,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = hold(setTimeout(done, ms));
    signal.addEventListener('abort', done);
  });
}
