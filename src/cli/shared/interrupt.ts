/** Aborted by Ctrl-C, `timeout`, a container that stops or a terminal that closes. A second signal ends the process at once. */
export function interruptible(): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => interrupted.abort());
  }
  return interrupted.signal;
}
