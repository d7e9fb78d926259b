/** Stops waiting for work when a signal is aborted. The work continues; its result is ignored. */
import { rest } from './sleep.ts';

/** @returns undefined when it was aborted first. @throws what the work throws, until then. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const over = Promise.withResolvers<undefined>();
  const end = (): void => over.resolve(undefined);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Not for longer than `ms`. @returns undefined when it was late. @throws what the work throws, until then. */
export async function inTime<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const done = new AbortController();
  try {
    return await Promise.race([work, rest(ms, done.signal).then(() => undefined)]);
  } finally {
    done.abort();
  }
}
