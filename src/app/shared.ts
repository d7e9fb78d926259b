/**
 * The composition of a process whose event log is shared with other machines (docs/beyond-one-machine.md): a receiver, a
 * replica, or both. Loaded when `LOG_URL` asks for it.
 */
import { existsSync } from 'node:fs';
import type { Hono } from 'hono';
import type { Config, ServeConfig, SharedConfig } from '../config/config.ts';
import { eventLogPath } from '../event-log/open-log.ts';
import { outboxPath } from '../event-log/outbox.ts';
import { observedBy } from '../intake/observer.ts';
import { openStore, REPLICA_THREADS } from '../mirror/open-store.ts';
import type { createOpsApp } from '../ops/app.ts';
import type { ReplicationView } from '../ops/condition/replication.ts';
import { createMirrorlessApp } from '../ops/mirrorless-app.ts';
import { Monitor } from '../ops/monitor.ts';
import type { OpsEnv } from '../ops/shared/env.ts';
import type { Listener } from '../platform/listen.ts';
import type { Logger } from '../platform/log.ts';
import { inTime } from '../platform/or-aborted.ts';
import { asError } from '../platform/thrown.ts';
import { fetchSnapshot, reserveFiles } from '../replication/bootstrap.ts';
import { makeSnapshot } from '../replication/make-snapshot.ts';
import { Neighbours } from '../replication/neighbours.ts';
import { nodeName } from '../replication/node-name.ts';
import { NOBODY } from '../replication/presence.ts';
import { listenAt, REAL, refuseOpenDoor, type Platform, type RunningService } from './compose.ts';
import { keepReplica } from './kept-replica.ts';
import { connectLink } from './link.ts';
import { openOutbox } from './open-outbox.ts';
import { startReceiver, type Receiver } from './receiver.ts';
import { startReplica, type Replica, type ReplicaPlatform } from './replica.ts';

/** The outside world; replaced in a simulation. */
export interface SharedPlatform
  extends Pick<Platform, 'connect' | 'listen' | 'loadOps' | 'random'>, ReplicaPlatform {
  readonly connectLink: typeof connectLink;
  readonly openOutbox: typeof openOutbox;
  readonly fetchSnapshot: typeof fetchSnapshot;
  readonly reserveFiles: typeof reserveFiles;
  readonly name: (config: Pick<Config, 'ops'>) => string;
}

export const REAL_SHARED: SharedPlatform = {
  ...REAL,
  connectLink,
  openOutbox,
  openReplica: (path, events, share) => openStore(path, events, REPLICA_THREADS, share),
  fetchSnapshot,
  reserveFiles,
  makeSnapshot: (path, signal) => makeSnapshot(path, 'snapshot-out', signal),
  name: ({ ops }) => nodeName(ops.port),
};

const DRAIN_MS = 1_500;
/** Of the time that a process has to end. */
const ENDED_WITHIN_MS = 1_000;
const NO_MIRROR = 'this process only receives webhooks and keeps no mirror: ask a replica';
const NOTHING_YET = 'this replica has nothing to show yet: nothing was copied so far';

type App = Pick<Hono<OpsEnv>, 'fetch'>;

/** @throws StoreError, or Error when a port cannot be listened on or the engine's packages are missing. */
export async function startShared(
  config: ServeConfig & { readonly shared: SharedConfig },
  log: Logger,
  onDeath: (error: Error) => void,
  platform: SharedPlatform = REAL_SHARED,
): Promise<RunningService> {
  const { shared } = config;
  const monitor = new Monitor();
  const name = platform.name(config);
  const { source, engine } = await platform.connectLink(shared, {
    name,
    isNew: isNew(config.database.path),
    log,
  });
  const neighbours = engine === null ? null : new Neighbours(engine.presence);
  const stopping = new AbortController();
  let receiver: Receiver | null = null;
  let replica: Replica | null = null;
  let why = shared.roles.has('replica') ? 'the mirror is being opened' : NO_MIRROR;
  const view = (): ReplicationView =>
    viewOf({ name, origin: source.name, receiver, replica, why, neighbours });
  monitor.showReplication(view);
  const waiting = createMirrorlessApp({
    token: config.ops.token?.reveal() ?? null,
    metrics: monitor.registry,
    now: Date.now,
    log,
    replication: view,
    why: () => (replica === null ? why : (replica.view.replica?.trouble ?? NOTHING_YET)),
  });
  const shown = (): App => (replica === null || replica.isEmpty ? waiting : replica.app);
  const listeners: Listener[] = [];
  const running: Promise<unknown>[] = [];
  const stop = async (graceMs: number): Promise<void> => {
    stopping.abort();
    await Promise.all([receiver?.stop(graceMs), ...listeners.map((listener) => listener.stop(graceMs))]);
    // What waits for an engine that does not answer ends with the connection to it.
    await inTime(Promise.allSettled(running), ENDED_WITHIN_MS);
    await source.close();
    await Promise.allSettled(running);
  };
  try {
    if (engine !== null && shared.roles.has('receive')) {
      const outbox = await platform.openOutbox(outboxPath(config.database.path), {
        onDeath,
        onCommit: monitor.onCommit,
      });
      receiver = await startReceiver({
        config: { service: needed(config.service) },
        outbox,
        engine,
        name,
        log,
        onDeath,
        observer: (now) => observedBy(monitor.observer(now), () => replica?.observer ?? null),
        listen: (intake) => listenAt(platform, intake, config.webhook),
      });
    }
    const ops = await listenAt(platform, { fetch: (...args) => shown().fetch(...args) }, config.ops);
    listeners.push(ops);
    refuseOpenDoor(config, ops);
    if (neighbours !== null) running.push(neighbours.run(stopping.signal));
    if (shared.roles.has('replica')) {
      const { createOpsApp } = await platform.loadOps();
      running.push(keptReplica(createOpsApp));
    }
    return {
      webhook: receiver?.listener ?? null,
      ops,
      metrics: monitor.registry,
      stop: () => stop(DRAIN_MS),
    };
  } catch (error) {
    await stop(0);
    throw error;
  }

  function keptReplica(create: typeof createOpsApp): Promise<void> {
    const { path: databasePath } = config.database;
    return keepReplica(
      {
        start: () =>
          startReplica({
            config,
            name,
            source,
            engine,
            members: () => neighbours?.members ?? NOBODY,
            hearsSinceMs: () => neighbours?.hearsSinceMs ?? null,
            mayLead: shared.roles.has('lead'),
            monitor,
            replication: view,
            log,
            onDeath,
            platform,
            createOpsApp: create,
          }),
        reserve: () => platform.reserveFiles(databasePath),
        mayBeginEmpty: engine !== null,
        fetch: (signal) => platform.fetchSnapshot({ databasePath, source, signal }),
        onChange: (begun, reason) => {
          replica = begun;
          why = reason;
        },
        log,
      },
      stopping.signal,
    ).catch((error: unknown) => {
      if (!stopping.signal.aborted) onDeath(asError(error));
    });
  }
}

function isNew(databasePath: string): boolean {
  return !existsSync(eventLogPath(databasePath)) && !existsSync(outboxPath(databasePath));
}

/** The configuration asks for it wherever webhooks are taken. */
function needed(service: ServeConfig['service']): Config['service'] {
  if (service === null) throw new Error('the settings of the store are missing');
  return service;
}

interface Viewed {
  readonly name: string;
  readonly origin: string;
  readonly receiver: Receiver | null;
  readonly replica: Replica | null;
  /** Of a replica that needs a snapshot: why it is not here. */
  readonly why: string;
  readonly neighbours: Neighbours | null;
}

function viewOf({ name, origin, receiver, replica, why, neighbours }: Viewed): ReplicationView {
  const { receivers, replicas } = neighbours?.members ?? NOBODY;
  const backlog = receiver?.backlog ?? null;
  const followed = replica?.view.replica ?? null;
  return {
    name,
    origin,
    receiver:
      backlog === null
        ? null
        : { backlog: backlog.entries, backlog_age_ms: backlog.ageMs, trouble: backlog.trouble },
    replica: followed === null ? null : { ...followed, trouble: troubleWith(followed.trouble, why) },
    lead: replica?.view.lead ?? null,
    members: {
      receivers: [...receivers].map(([member, note]) => ({
        name: member,
        backlog: note.backlog,
        backlog_age_ms: note.backlogAgeMs,
      })),
      replicas: [...replicas].map(([member, note]) => ({
        name: member,
        last_seq: note.lastSeq,
        is_up_to_date: note.isUpToDate,
        is_leading: note.isLeading,
      })),
    },
  };
}

/** What is in the way, and why what would help is not here. */
function troubleWith(trouble: string | null, why: string): string | null {
  return trouble === null || why === '' ? trouble : `${trouble}; ${why}`;
}
