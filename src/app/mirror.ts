/** The mirror without its listeners: database, client of the store, reconciler. */
import type { Config } from '../config/config.ts';
import { silenceMs } from '../core/silence.ts';
import { openStore } from '../mirror/open-store.ts';
import type { Store } from '../mirror/store.ts';
import type { Monitor } from '../ops/monitor.ts';
import { FactLog } from '../ops/state/fact-log.ts';
import type { Logger } from '../platform/log.ts';
import { Reconciler } from '../reconcile/reconciler.ts';
import { connectService } from '../store-api/connect.ts';
import { storeAt } from '../store-api/transport/http.ts';
import { createClock, type Clock } from './clock.ts';
import { untilCommitted } from './until-committed.ts';

/** The host's clock may be set by up to this much between two starts before that counts. */
const CLOCK_TOLERANCE_MS = 5_000;

const NEW_EPOCH =
  'a new epoch has begun: consumers of the change feed start over, and every product is read again; until then its rows are suspect';

/** What the mirror stands on. Real, except in a simulation. */
export interface MirrorPlatform {
  readonly openStore: typeof openStore;
  readonly connect: typeof connectService;
  /** In [0, 1). */
  readonly random: () => number;
}

export const REAL_MIRROR: MirrorPlatform = { openStore, connect: connectService, random: Math.random };

export interface Mirror {
  readonly store: Store;
  readonly reconciler: Reconciler;
  readonly clock: Clock;
  /** How long nothing listened before this start; null on the first one. */
  silenceMs(): number | null;
  /** Stops reading, then closes the database. */
  close(): Promise<void>;
}

interface MirrorOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Called when a thread of the database ends by itself: the process cannot continue. */
  readonly onDeath: (error: Error) => void;
  readonly platform?: MirrorPlatform;
  /** Receives commits and the outcome of each request to the store. */
  readonly monitor?: Monitor | null;
}

/** Nothing is read before `reconciler.start()`. @throws StoreError */
export async function openMirror({
  config,
  log,
  onDeath,
  platform = REAL_MIRROR,
  monitor = null,
}: MirrorOptions): Promise<Mirror> {
  const { service, database, schedules } = config;
  const store = await platform.openStore(database.path, {
    onDeath,
    onCommit: monitor?.onCommit,
    onNews: ({ message, ...details }) => log.warn(details, message),
    onApplyNews: ({ message, error }) =>
      error === null ? log.warn(message) : log.error({ err: error }, message),
    onNewEpoch: ({ isFirst, ...why }) => {
      if (!isFirst) log.warn(why, NEW_EPOCH);
      void nameWarehouses();
      if (isServing) void readAgain();
    },
  });
  // From the event log, which is there: the mirror is still being opened.
  const { life } = store;
  const clock = createClock(Math.max(life.aliveAtMs ?? 0, life.lastAtMs ?? 0));
  const { client, tokens } = platform.connect({
    baseUrl: service.baseUrl,
    clientId: service.clientId,
    clientSecret: service.clientSecret.reveal(),
    tokenFilePath: `${database.path}.token`,
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
    client: monitor?.observe(client) ?? client,
    tokens,
    now: clock.now,
    random: platform.random,
    log,
    maxConcurrency: service.maxConcurrency,
    maxRps: service.maxRps,
    storeAt: storeAt(service.baseUrl),
    schedules,
  });
  const closing = new AbortController();
  let isServing = false;
  /** As after a start, everything is read. */
  const readAgain = async (): Promise<void> => {
    try {
      await untilCommitted(() => reconciler.repairSilence(0), closing.signal);
    } catch (error) {
      if (closing.signal.aborted) return;
      log.error(
        { err: error },
        'a new epoch has begun, and its first read has not: run `stock-mirror resync`',
      );
    }
  };
  /** Only this process knows the names: a new file has none. */
  const nameWarehouses = async (): Promise<void> => {
    const names = Object.fromEntries(config.warehouseNames);
    try {
      await untilCommitted(() => store.writer.command('nameWarehouses', { names }), closing.signal);
    } catch (error) {
      if (closing.signal.aborted) return;
      log.error(
        { err: error },
        'WAREHOUSE_NAMES could not be written: `warehouse_name` in the views is as before; start the mirror again',
      );
    }
  };
  void nameWarehouses();
  const serving = (): void => void (isServing = true);
  store.opened.then(serving, serving);
  const factLog = new FactLog(log);
  store.writer.onApplied(({ reports }) => {
    for (const { facts, seq } of reports) for (const fact of facts) factLog.tell(fact, seq);
  });
  return {
    store,
    reconciler,
    clock,
    silenceMs(): number | null {
      // A mirror that was filled without ever listening has been silent since then.
      const lastAtMs = life.aliveAtMs ?? life.lastAtMs;
      return lastAtMs === null ? null : silenceMs(lastAtMs, Date.now(), CLOCK_TOLERANCE_MS);
    },
    async close(): Promise<void> {
      closing.abort();
      await reconciler.stop();
      await client.close();
      await store.close();
    },
  };
}
