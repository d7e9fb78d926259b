/** Pruning while a running mirror holds the database: it deletes one portion for each request. */
import { z } from 'zod';
import { bothPruned, NOTHING_PRUNED, rowsOf } from '../../mirror/writer/pruned.ts';
import type { PrunedPortion } from '../../mirror/retention.ts';
import type { OpsClient } from '../shared/ops-client.ts';

const portionSchema = z.object({
  days: z.number(),
  log: z.number(),
  changes: z.number(),
  quarantine: z.number(),
  runs: z.number(),
  complete: z.boolean(),
});

const TELL_EVERY_MS = 3_000;

/**
 * @param days undefined: the RETENTION_DAYS of the running mirror.
 * @returns all that was deleted; null when no mirror listens.
 * @throws Error when the mirror goes away.
 */
export async function pruneInServer(
  ops: Pick<OpsClient, 'post'>,
  days: number | undefined,
  interrupted: AbortSignal,
): Promise<PrunedPortion | null> {
  let sum = NOTHING_PRUNED;
  let tellAtMs = performance.now() + TELL_EVERY_MS;
  for (let begun = false; ; begun = true) {
    const portion = await ops.post('/api/prune', days === undefined ? {} : { days }, portionSchema);
    if (portion === null) {
      if (!begun) return null;
      throw new Error(`the mirror has stopped; it deleted ${rowsOf(sum)} rows: prune again when it is back`);
    }
    sum = bothPruned(sum, portion);
    if (portion.complete || interrupted.aborted) {
      return { days: portion.days, ...sum, complete: portion.complete };
    }
    if (performance.now() < tellAtMs) continue;
    tellAtMs = performance.now() + TELL_EVERY_MS;
    process.stderr.write(`${rowsOf(sum)} rows deleted so far\n`);
  }
}
