import { REPLICA_LAG_MS } from '../limits.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/**
 * Makes every product suspect until a read that was sent a replica's lag later. A change that no webhook reported before is
 * among what may have been missed, unless it has proven already that webhooks are missing: then the cause names it.
 */
export function raiseBarrier(work: UnitOfWork): void {
  const trustedAfterMs = Math.max(work.state.trustedAfterMs, work.input.atMs + REPLICA_LAG_MS);
  const { wayIn, untold } = work.state;
  work.state = { ...work.state, trustedAfterMs, untold: wayIn === 'missing' ? untold : null };
}
