/** A replica, begun anew from a snapshot whenever its files cannot be continued. */
import { orAborted } from '../platform/or-aborted.ts';
import { rest } from '../platform/sleep.ts';
import type { Logger } from '../platform/log.ts';
import { TransportError } from '../replication/transport.ts';
import { StoreError } from '../sqlite/errors.ts';
import type { Replica } from './replica.ts';

interface KeptDeps {
  /** @throws StoreError `unfit_copy` when its files do not belong together. */
  readonly start: () => Promise<Replica>;
  /** Puts a snapshot in the place of its files. @returns false when there is none yet. @throws TransportError, StoreError */
  readonly bootstrap: (signal: AbortSignal) => Promise<boolean>;
  /** What is shown while there is none: why. */
  readonly onChange: (replica: Replica | null, why: string) => void;
  readonly log: Logger;
}

const RETRY_MS = 1_000;
const WAITING = 'this replica has no mirror yet: it waits for a snapshot, which the replica that leads puts';

/** Until aborted. @throws StoreError when its files cannot be had. */
export async function keepReplica(deps: KeptDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const replica = await startIfFit(deps);
    if (replica !== null) {
      deps.onChange(replica, '');
      try {
        await orAborted(replica.ended, signal);
      } finally {
        deps.onChange(null, 'the mirror is being replaced by a snapshot');
        await replica.stop();
      }
    }
    await bootstrapped(deps, signal);
  }
}

async function startIfFit({ start, log }: KeptDeps): Promise<Replica | null> {
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== 'unfit_copy') throw error;
    log.warn({ err: error }, 'the mirror is replaced by a snapshot');
    return null;
  }
}

/** Again and again, until there is one. */
async function bootstrapped(deps: KeptDeps, signal: AbortSignal): Promise<void> {
  let told = '';
  while (!signal.aborted) {
    let why = WAITING;
    try {
      if (await deps.bootstrap(signal)) {
        deps.log.info('the mirror was replaced by a snapshot');
        return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof TransportError)) throw error;
      why = error.message;
    }
    if (why !== told) deps.log.warn(why);
    told = why;
    deps.onChange(null, why);
    await rest(RETRY_MS, signal);
  }
}
