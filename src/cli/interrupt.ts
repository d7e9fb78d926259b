/** Ctrl-C as a signal to work that ends in order. */

/** Once: a second Ctrl-C ends the process the hard way. */
export function interruptible(): AbortSignal {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  return interrupted.signal;
}
