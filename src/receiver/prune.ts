/** Deletes what the mirror needs no more, a little at a time, so that no delivery waits for it. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../platform/log.ts';
import type { InboxWriter } from './inbox-writer.ts';

interface PruneDeps {
  readonly inbox: Pick<InboxWriter, 'prune'>;
  /** The last row that may be deleted (`inbox_prunable_seq` of the mirror's file); null while it is not known. */
  readonly prunableSeq: () => number | null;
  readonly log: Logger;
}

const EVERY_MS = 60_000;
const PAUSE_MS = 100;

/** Runs until the signal. Never rejects. */
export async function pruneInbox({ inbox, prunableSeq, log }: PruneDeps, signal: AbortSignal): Promise<void> {
  const pause = (ms: number): Promise<unknown> =>
    wait(ms, undefined, { signal, ref: false }).catch(() => undefined);
  while (!signal.aborted) {
    await pause(EVERY_MS);
    try {
      for (;;) {
        const upToSeq = signal.aborted ? null : prunableSeq();
        if (upToSeq === null || inbox.prune(upToSeq) === 0) break;
        await pause(PAUSE_MS);
      }
    } catch (error) {
      log.warn({ err: error }, 'pruning the inbox failed; the next attempt is in a minute');
    }
  }
}
