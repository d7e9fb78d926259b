/** Keeps a replica running. When its files cannot be continued they stay visible until a snapshot replaces them. */
import { orAborted } from '../platform/or-aborted.ts';
import { rest } from '../platform/sleep.ts';
import type { Logger } from '../platform/log.ts';
import type { FetchedSnapshot } from '../replication/bootstrap.ts';
import { TransportError } from '../replication/transport.ts';
import { StoreError } from '../sqlite/errors.ts';
import type { Replica } from './replica.ts';

interface KeptDeps {
  /** @throws StoreError `unfit_copy` when its files do not belong together. */
  readonly start: () => Promise<Replica>;
  /** @returns null when there is no snapshot yet. @throws TransportError, StoreError */
  readonly fetch: (signal: AbortSignal) => Promise<FetchedSnapshot | null>;
  /** @param why shown while there is no replica. */
  readonly onChange: (replica: Replica | null, why: string) => void;
  readonly log: Logger;
}

const LOOK_EVERY_MS = 1_000;
const WAITING = 'waiting for the lead to upload a snapshot';

/** Until aborted. @throws StoreError when its files cannot be had. */
export async function keepReplica(deps: KeptDeps, signal: AbortSignal): Promise<void> {
  const { onChange, log } = deps;
  while (!signal.aborted) {
    const replica = await startIfFit(deps);
    let snapshot = null;
    if (replica !== null) {
      onChange(replica, '');
      snapshot = await untilReplaceable(deps, replica, signal);
      if (signal.aborted) return;
    }
    snapshot ??= await fetched(deps, { isNeeded: () => true, tell: (why) => onChange(null, why) }, signal);
    snapshot?.putInPlace();
    if (snapshot !== null) log.info('the mirror was replaced by a snapshot');
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

/** Then stops the replica. @returns the snapshot; null when its files failed first, or when aborted. */
async function untilReplaceable(
  deps: KeptDeps,
  replica: Replica,
  signal: AbortSignal,
): Promise<FetchedSnapshot | null> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const fetching = fetched(deps, { isNeeded: () => replica.needsSnapshot, tell: () => undefined }, until);
  fetching.catch(() => undefined);
  try {
    const end = await orAborted(Promise.race([replica.ended, fetching]), signal);
    return typeof end === 'object' ? end : null;
  } finally {
    over.abort();
    deps.onChange(null, 'the mirror is being replaced by a snapshot');
    await replica.stop();
  }
}

interface Need {
  readonly isNeeded: () => boolean;
  /** Why there is none yet. */
  readonly tell: (why: string) => void;
}

/** Again and again, until there is one. @returns null when aborted. */
async function fetched(
  deps: KeptDeps,
  { isNeeded, tell }: Need,
  signal: AbortSignal,
): Promise<FetchedSnapshot | null> {
  let told = '';
  while (!signal.aborted) {
    await rest(LOOK_EVERY_MS, signal);
    if (signal.aborted || !isNeeded()) continue;
    let why = WAITING;
    try {
      const snapshot = await deps.fetch(signal);
      if (snapshot !== null && isNeeded()) return snapshot;
    } catch (error) {
      if (signal.aborted) return null;
      if (!(error instanceof TransportError)) throw error;
      why = error.message;
    }
    if (why !== told) {
      deps.log.warn(why);
      tell(why);
    }
    told = why;
  }
  return null;
}
