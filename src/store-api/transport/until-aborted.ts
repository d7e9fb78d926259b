/** Waits for shared work, which one waiter's signal must not stop. */
import { ServiceError } from './errors.ts';

/** @throws ServiceError of kind `aborted` as soon as `signal` is aborted, else whatever the work throws. */
export function untilAborted<T>(
  join: () => Promise<T>,
  signal: AbortSignal | undefined,
  endpoint: string,
): Promise<T> {
  if (signal === undefined) return join();
  return new Promise<T>((resolve, reject) => {
    const onAbort = () =>
      reject(new ServiceError({ kind: 'aborted', endpoint, description: 'aborted while waiting' }));
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    join()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort));
  });
}
