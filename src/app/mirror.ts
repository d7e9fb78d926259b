/** The mirror without its listeners: inbox, mirror, store client and reconciler. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { openStore, realThreads, type Store, type StoreThreads } from '../mirror/store.ts';
import type { Monitor } from '../ops/monitor.ts';
import { FactLog } from '../ops/state/fact-log.ts';
import type { Logger } from '../platform/log.ts';
import { Reconciler } from '../reconcile/reconciler.ts';
import { connectService, type ServiceConnectionOptions } from '../store-api/client.ts';
import { storeAt } from '../store-api/transport/http.ts';
import { createClock, type Clock } from './clock.ts';

export interface MirrorPlatform {
  readonly threads: (path: string) => StoreThreads;
  readonly connect: typeof connectService;
  /** In [0, 1). */
  readonly random: () => number;
}

export const REAL_MIRROR: MirrorPlatform = {
  threads: realThreads,
  connect: connectService,
  random: Math.random,
};

export interface OpenMirror {
  readonly store: Store;
  readonly reconciler: Reconciler;
  readonly clock: Clock;
  /** Since then, deliveries may be missing: requests reads of all products. Heartbeats carry it until it is stored. */
  missed(sinceMs: number): void;
  /** The downtime for the heartbeat; null if the mirror has stored every downtime. */
  readonly missedSinceMs: number | null;
  /** Resolves once the open mirror has stored every downtime, or has failed. */
  readonly prepared: Promise<void>;
  close(): Promise<void>;
}

interface MirrorOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly onDeath: (error: Error) => void;
  readonly platform?: MirrorPlatform;
  readonly monitor?: Monitor | null;
  readonly onCommit?: () => void;
  readonly shareTokenState?: ServiceConnectionOptions['shareTokenState'];
}

const RETRY_MS = 1_000;

/** Resolves once deliveries can be stored. Reads begin with `reconciler.start()`. @throws StoreError */
export async function openMirror({
  config,
  log,
  onDeath,
  platform = REAL_MIRROR,
  monitor = null,
  onCommit,
  shareTokenState,
}: MirrorOptions): Promise<OpenMirror> {
  const { service, database, schedules } = config;
  const closing = new AbortController();
  let missedSinceMs: number | null = null;
  /** Counted, because a later downtime does not change the earliest instant. */
  let timesMissed = 0;
  let wasOpen = false;
  let underWay: Promise<void> | null = null;
  const note = (sinceMs: number): void => {
    missedSinceMs = Math.min(missedSinceMs ?? sinceMs, sinceMs);
    timesMissed += 1;
  };
  /** Gives a newly opened mirror its warehouse names and pending downtime; repeats until it succeeds. */
  const prepare = (): Promise<void> =>
    (underWay ??= (async () => {
      for (;;) {
        try {
          await store.mirror.command('nameWarehouses', { names: Object.fromEntries(config.warehouseNames) });
          const times = timesMissed;
          if (missedSinceMs !== null) {
            const atMs = clock.now();
            await store.mirror.append({
              kind: 'missed',
              atMs,
              why: 'port_closed',
              sinceMs: missedSinceMs,
              untilMs: atMs,
              variantIds: null,
            });
          }
          if (timesMissed === times) {
            missedSinceMs = null;
            return;
          }
        } catch {
          // The failure is logged once, and the next opening calls this again.
          if (closing.signal.aborted || !store.mirror.isOpen) return;
          await wait(RETRY_MS, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
        }
      }
    })().finally(() => (underWay = null)));

  const store = await openStore(platform.threads(database.path), {
    onDeath,
    onCommit: (commit) => {
      monitor?.onCommit(commit);
      onCommit?.();
    },
    onOpened: (newEpoch) => {
      if (newEpoch !== null && (newEpoch.why !== null || wasOpen)) {
        // The heartbeats note it, so that an end of the process before the reads begin does not lose them.
        note(store.inbox.metadata.aliveAtMs ?? 0);
        log.warn(
          newEpoch,
          'a new epoch has begun: consumers of the change feed start over, and every product is read; until then its rows are suspect',
        );
      }
      wasOpen = true;
      void prepare();
    },
    onFault: (fault) => {
      if (fault === null) log.warn('the mirror works again');
      else {
        log.error(
          { err: fault },
          'the mirror has failed and is opened again; deliveries are accepted meanwhile',
        );
      }
    },
  });
  const { aliveAtMs, clockMs } = store.inbox.metadata;
  const clock = createClock(Math.max(aliveAtMs ?? 0, clockMs ?? 0));
  const { client, tokens } = platform.connect({
    baseUrl: service.baseUrl,
    clientId: service.clientId,
    clientSecret: service.clientSecret.reveal(),
    tokenFilePath: `${database.path}.token`,
    shareTokenState,
    maxConcurrency: service.maxConcurrency,
    onAnswer: monitor?.onAnswer,
    onTokenFileError: (error) =>
      log.warn(
        { err: error },
        'the token file cannot be used: the token is kept in memory; check the permissions and the disk of its folder',
      ),
    now: clock.now,
  });
  const reconciler = new Reconciler({
    store,
    client,
    tokens,
    now: clock.now,
    random: platform.random,
    log,
    maxConcurrency: service.maxConcurrency,
    maxRps: service.maxRps,
    storeAt: storeAt(service.baseUrl),
    schedules,
  });
  const factLog = new FactLog(log);
  store.mirror.onApplied(({ reports }) => {
    for (const { facts, seq } of reports) for (const fact of facts) factLog.tell(fact, seq);
  });
  return {
    store,
    reconciler,
    clock,
    get missedSinceMs() {
      return missedSinceMs;
    },
    get prepared() {
      return underWay ?? Promise.resolve();
    },
    missed(sinceMs: number): void {
      note(sinceMs);
      if (store.mirror.isOpen) void prepare();
    },
    async close(): Promise<void> {
      closing.abort();
      await reconciler.stop();
      await client.close();
      await store.close();
    },
  };
}
