/** Deletes old rows of inbox and mirror every hour, in small transactions, so that no delivery waits for it. */
import { setTimeout as wait } from 'node:timers/promises';
import type { InboxClient } from '../inbox/inbox-client.ts';
import type { Logger } from '../platform/log.ts';
import type { Mirror } from './mirror.ts';

interface RetentionDeps {
  readonly inbox: Pick<InboxClient, 'prune'>;
  /** null if this host only receives. */
  readonly mirror: Pick<Mirror, 'command'> | null;
  readonly doneSeq: () => number;
  readonly now: () => number;
  readonly log: Logger;
  readonly retentionDays: number;
}

const DAY_MS = 24 * 60 * 60_000;
const EVERY_MS = 60 * 60_000;
const AT_ONCE = 500;
const PAUSE_MS = 100;

export async function prunePeriodically(deps: RetentionDeps, signal: AbortSignal): Promise<void> {
  const { log, retentionDays } = deps;
  try {
    for (;;) {
      await wait(PAUSE_MS, undefined, { signal, ref: false });
      try {
        const deleted = await pruneAll(deps, signal);
        if (deleted > 0)
          log.info({ rows: deleted, retentionDays }, 'pruned rows older than the retention time');
      } catch (error) {
        signal.throwIfAborted();
        log.warn({ err: error }, 'pruning failed; the next attempt is in an hour');
      }
      await wait(EVERY_MS, undefined, { signal, ref: false });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function pruneAll(
  { inbox, mirror, doneSeq, now, retentionDays }: RetentionDeps,
  signal: AbortSignal,
): Promise<number> {
  const beforeMs = now() - retentionDays * DAY_MS;
  let total = 0;
  for (;;) {
    const { deleted, firstSeq } = await inbox.prune({ beforeMs, doneSeq: doneSeq(), limit: AT_ONCE });
    const rows = await mirror?.command('prune', { beforeMs, limit: AT_ONCE, inboxFirstSeq: firstSeq });
    const some = deleted + (rows === undefined ? 0 : rows.changes + rows.deadLetters + rows.runs);
    if (some === 0) return total;
    total += some;
    await wait(PAUSE_MS, undefined, { signal, ref: false });
  }
}
