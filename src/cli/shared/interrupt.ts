/** Being asked to stop, as a signal to work that ends in order and leaves nothing half made behind. */

/** Ctrl-C; `timeout`, or a container that stops; a terminal that closes. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Once: a second one ends the process at once. */
export function interruptible(): AbortSignal {
  const interrupted = new AbortController();
  const interrupt = (): void => {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    interrupted.abort();
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  return interrupted.signal;
}
