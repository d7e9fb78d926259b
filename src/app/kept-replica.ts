/** Keeps a replica running. When its files cannot be continued they stay visible until a snapshot replaces them. */
import { inTime, orAborted } from '../platform/or-aborted.ts';
import { rest } from '../platform/sleep.ts';
import type { Logger } from '../platform/log.ts';
import { asError } from '../platform/thrown.ts';
import type { FetchedSnapshot } from '../replication/bootstrap.ts';
import { mayPass, StoreError, type StoreErrorKind } from '../sqlite/errors.ts';
import type { Replica } from './replica.ts';

interface KeptDeps {
  /** Keeps its files for a first snapshot. @returns null when they hold something already. @throws StoreError */
  readonly reserve: () => (() => void) | null;
  /** The first machine of an engine has no snapshot to begin with. */
  readonly mayBeginEmpty: boolean;
  /** @throws StoreError `unfit_copy` when its files do not belong together. */
  readonly start: () => Promise<Replica>;
  /** @returns null when there is no snapshot yet. @throws TransportError, StoreError, Error */
  readonly fetch: (signal: AbortSignal) => Promise<FetchedSnapshot | null>;
  /** Why none is shown; or, with one, why what it needs is not here; empty: it needs nothing. */
  readonly onChange: (replica: Replica | null, why: string) => void;
  readonly log: Logger;
}

const LOOK_EVERY_MS = 1_000;
/** What cannot be had may cost its primary a copy of both files each time. */
const LOOK_AGAIN_MOST_MS = 60_000;
/** Where none can be had, no replica may be left that puts another one. */
const EMPTY_AFTER_MS = 60_000;
/** For a check of many gigabytes, which cannot be broken off. */
const STOP_WITHIN_MS = 1_500;
/** Besides what may pass anywhere: a person may see to it while the old files are shown. */
const SEEN_TO: ReadonlySet<StoreErrorKind> = new Set(['no_room', 'unreachable']);
const FETCHING = 'this replica has nothing to show yet: it fetches its first snapshot';
const WAITING = 'waiting for the lead to upload a snapshot';

/** Until aborted. @throws StoreError when its files cannot be had, or are not to be replaced. */
export async function keepReplica(deps: KeptDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const snapshot = (await firstSnapshot(deps, signal)) ?? (await untilReplaceable(deps, signal));
    if (signal.aborted) snapshot?.discard();
    else if (snapshot !== null) {
      snapshot.putInPlace();
      deps.log.info('the mirror was replaced by a snapshot');
    }
  }
}

/**
 * Before there is anything to show: an empty mirror has an epoch of its own, and who reads it would start over.
 *
 * @returns null when there is something, or an empty mirror must do.
 */
async function firstSnapshot(deps: KeptDeps, signal: AbortSignal): Promise<FetchedSnapshot | null> {
  const release = deps.reserve();
  if (release === null) return null;
  const { mayBeginEmpty, onChange } = deps;
  try {
    onChange(null, FETCHING);
    return await fetched(
      { ...deps, stopping: signal },
      {
        isNeeded: () => true,
        tell: (why) => onChange(null, why),
        giveUpAfterMs: mayBeginEmpty ? EMPTY_AFTER_MS : null,
      },
      signal,
    );
  } finally {
    release();
  }
}

/** Shows what there is. @returns what replaces its files; null when aborted, or there is none to show any more. */
async function untilReplaceable(deps: KeptDeps, signal: AbortSignal): Promise<FetchedSnapshot | null> {
  if (signal.aborted) return null;
  const replica = await startIfFit(deps);
  const kept = { ...deps, stopping: signal };
  const tell = (why: string): void => deps.onChange(null, why);
  const always: Need = { isNeeded: () => true, tell };
  if (replica === null) return fetched(kept, always, signal);
  deps.onChange(replica, '');
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const tellBeside = (why: string): void => deps.onChange(replica, why);
  const fetching = fetched(kept, { isNeeded: () => replica.needsSnapshot, tell: tellBeside }, until);
  fetching.catch(() => undefined);
  let end;
  try {
    end = await orAborted(Promise.race([replica.ended, fetching]), signal);
  } finally {
    over.abort();
    tell('the mirror is being replaced by a snapshot');
    await replica.stop();
    // Its files are where the next one's will be.
    const late = await fetching.catch(() => null);
    if (late !== end) late?.discard();
  }
  if (typeof end === 'object') return end;
  return fetched(kept, always, signal);
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

interface Need {
  readonly isNeeded: () => boolean;
  /** Why there is none yet. */
  readonly tell: (why: string) => void;
  /** For so long none can be had, or at once where there is none; null: never. */
  readonly giveUpAfterMs?: number | null;
}

interface FetchDeps extends Pick<KeptDeps, 'fetch' | 'log'> {
  readonly stopping: AbortSignal;
}

/** Again and again, until there is one. @returns null when aborted or given up. @throws StoreError */
async function fetched(
  deps: FetchDeps,
  { isNeeded, tell, giveUpAfterMs = null }: Need,
  signal: AbortSignal,
): Promise<FetchedSnapshot | null> {
  const startedMs = performance.now();
  let told = '';
  let waitMs = 0;
  while (!signal.aborted) {
    await rest(waitMs, signal);
    waitMs = Math.max(waitMs, LOOK_EVERY_MS);
    if (signal.aborted) break;
    if (!isNeeded()) {
      if (told !== '') tell('');
      told = '';
      waitMs = LOOK_EVERY_MS;
      continue;
    }
    const found = await tried(deps, signal);
    const isFailure = found instanceof Error;
    if (found !== null && !isFailure) {
      if (isNeeded() && !signal.aborted) return found;
      found.discard();
      continue;
    }
    if (signal.aborted) break;
    const triedForMs = performance.now() - startedMs;
    if (giveUpAfterMs !== null && (found === null || triedForMs >= giveUpAfterMs)) break;
    const why = isFailure ? found.message : WAITING;
    if (why !== told) {
      deps.log.warn(why);
      tell(why);
    }
    told = why;
    waitMs = isFailure ? Math.min(2 * waitMs, LOOK_AGAIN_MOST_MS) : LOOK_EVERY_MS;
  }
  return null;
}

/** @returns what it failed with when that may pass: a full disk, a primary that is not reached. @throws StoreError */
async function tried(
  { fetch, stopping }: FetchDeps,
  signal: AbortSignal,
): Promise<FetchedSnapshot | Error | null> {
  try {
    return await orStopped(fetch(signal), stopping);
  } catch (error) {
    const isSeenTo = error instanceof StoreError && SEEN_TO.has(error.kind);
    if (error instanceof StoreError && !isSeenTo && !mayPass(error)) throw error;
    return asError(error);
  }
}

/** What comes too late goes again. @returns null when the process stops. */
async function orStopped(
  fetching: Promise<FetchedSnapshot | null>,
  stopping: AbortSignal,
): Promise<FetchedSnapshot | null> {
  const found = await orAborted(fetching, stopping);
  if (found !== undefined) return found;
  const gone = fetching.then(
    (late) => {
      late?.discard();
    },
    () => undefined,
  );
  await inTime(gone, STOP_WITHIN_MS);
  return null;
}
