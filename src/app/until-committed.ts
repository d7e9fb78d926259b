/** Retries a write until it commits. */
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../sqlite/errors.ts';

const RETRY_MS = 500;

/** Another program may hold the mirror's lock for minutes: deliveries are kept meanwhile. @throws StoreError */
export async function untilCommitted(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      const mayPass =
        error instanceof StoreError && (error.kind === 'busy' || error.kind === 'cannot_commit');
      if (!mayPass || signal.aborted) throw error;
      await sleep(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
