/** Aborted by the first signal; a second one ends the process. */
export function interruptible(): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => interrupted.abort());
  }
  return interrupted.signal;
}
