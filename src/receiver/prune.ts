/** Deletes rows that no mirror needs any more, a little at a time, so that no delivery waits for it. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../platform/log.ts';
import type { InboxWriter, Prunable } from './inbox-writer.ts';

interface PruneDeps {
  readonly inbox: Pick<InboxWriter, 'prune'>;
  /** null while it is not known. */
  readonly prunable: () => Prunable | null;
  readonly log: Logger;
}

const EVERY_MS = 60_000;
const PAUSE_MS = 100;

/** Runs until the signal. Never rejects. */
export async function pruneInbox({ inbox, prunable, log }: PruneDeps, signal: AbortSignal): Promise<void> {
  const pause = (ms: number): Promise<unknown> =>
    wait(ms, undefined, { signal, ref: false }).catch(() => undefined);
  while (!signal.aborted) {
    await pause(EVERY_MS);
    try {
      for (;;) {
        const rows = signal.aborted ? null : prunable();
        if (rows === null || inbox.prune(rows) === 0) break;
        await pause(PAUSE_MS);
      }
    } catch (error) {
      log.warn({ err: error }, 'pruning the inbox failed; the next attempt is in a minute');
    }
  }
}
