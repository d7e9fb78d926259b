/**
 * A machine that copies the common order and applies it, and reads from the store while it leads: the real event log,
 * projection, replicator, lead and reconciler.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { createClock } from '../../../src/app/clock.ts';
import { heartbeatOf } from '../../../src/app/compose.ts';
import { createReading } from '../../../src/app/reading.ts';
import type { Config } from '../../../src/config/config.ts';
import { serveEventLog } from '../../../src/event-log/append-loop.ts';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import { openOwnLog } from '../../../src/event-log/own-log.ts';
import { createHeartbeat } from '../../../src/intake/heartbeat.ts';
import { openStore, type StoreParts } from '../../../src/mirror/open-store.ts';
import { serveReader } from '../../../src/mirror/reader/read-loop.ts';
import type { Store } from '../../../src/mirror/store.ts';
import { serveProjection } from '../../../src/mirror/writer/apply-loop.ts';
import type { Logger } from '../../../src/platform/log.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { rest } from '../../../src/platform/sleep.ts';
import type { Reconciler } from '../../../src/reconcile/reconciler.ts';
import { bootstrap } from '../../../src/replication/bootstrap.ts';
import { Lead } from '../../../src/replication/lead.ts';
import { replicasIn, tellOfReplica, type ReplicaNote } from '../../../src/replication/presence.ts';
import { Replicator, type ReplicaState } from '../../../src/replication/replicator.ts';
import { SharedLog } from '../../../src/replication/shared-log.ts';
import { SnapshotNeeded, TransportError, type Standing } from '../../../src/replication/transport.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { StoreError } from '../../../src/sqlite/errors.ts';
import { connectOver } from '../../../src/store-api/connect.ts';
import { createTokenMemory } from '../../../src/store-api/token-memory.ts';
import type { Transport } from '../../../src/store-api/transport/transport.ts';
import { present } from '../../shared/present.ts';
import { Disk } from '../disk.ts';
import { startFakeThread, type ThreadPace } from '../fake-thread.ts';
import { WORLD, type Life } from '../virtual-time.ts';
import { Host, type Ground, type Program } from './host.ts';
import { LOST, type SimulatedEngine } from './network.ts';

interface ReplicaSettings {
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
  readonly schedules: Config['schedules'];
  readonly maxConcurrency: number;
  readonly maxRps: number;
  readonly transport: (life: Life, now: () => number) => Transport;
  /** What is older goes, while this machine leads; null: nothing does. */
  readonly keptMs: number | null;
  /** Sees every connection of the projection, and one to the event log. */
  readonly onOpen: (db: Db, log: Db) => void;
}

/** While one event log is open. */
interface Open {
  readonly store: Store;
  readonly parts: StoreParts;
  readonly shared: SharedLog;
  readonly replicator: Replicator;
  readonly lead: Lead;
}

interface Standby {
  readonly life: Life;
  readonly engine: SimulatedEngine;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const LEVEL_WITHIN_MS = 3_000;
/** So long an engine has no history before one of the replicas gives it one: by then all tell how far they are. */
const LOST_FOR_MS = 10_000;
const SNAPSHOT_EVERY_MS = 60_000;
const PRUNE_EVERY_MS = 5_000;
const PRUNED_AT_ONCE = 100;

export class Replica extends Host {
  readonly #settings: ReplicaSettings;
  #open: Open | null = null;
  #reconciler: Reconciler | null = null;
  #mirrorCopy: Uint8Array | null = null;

  constructor(name: string, ground: Ground, settings: ReplicaSettings) {
    super(name, new Disk((path) => openOwnLog(path, 'copy')), ground);
    this.#settings = settings;
  }

  get state(): ReplicaState | null {
    return this.#open?.replicator.state ?? null;
  }

  get standing(): Standing | null {
    return this.#open?.replicator.standing ?? null;
  }

  get appliedSeq(): number {
    return this.#open?.parts.projection.appliedSeq ?? 0;
  }

  get isLeading(): boolean {
    return this.#open?.lead.isLeading ?? false;
  }

  /** Of the replica that leads. */
  get reconciler(): Reconciler | null {
    return this.#reconciler;
  }

  /** A power cut: the mirror is synced seldom, and comes back as it was some time ago; the event log loses nothing. */
  losePower(): void {
    const copy = this.#mirrorCopy;
    this.kill();
    if (copy !== null) this.ground.time.after(1, WORLD, () => this.disk.restore({ mirror: copy }));
  }

  /** What of the mirror is on disk for good. */
  syncMirror(): void {
    if (this.#open !== null && this.isRunning) this.#mirrorCopy = this.disk.backUp().mirror;
  }

  /** The machine comes back with an empty disk. */
  loseDisk(): void {
    this.kill();
    this.#mirrorCopy = null;
    this.ground.time.after(1, WORLD, () => {
      this.disk.loseMirror();
      for (const side of ['', '-wal', '-shm']) rmSync(this.disk.logPath + side, { force: true });
    });
  }

  protected override ended(): void {
    this.#open = null;
    this.#reconciler = null;
  }

  protected run(life: Life): Promise<Program> {
    const stopping = new AbortController();
    const log = this.logOf(life);
    const standby = { life, engine: this.engineOf(life), log, signal: stopping.signal };
    const living = this.#live(standby);
    living.catch((error: unknown) => {
      if (life.alive) this.ground.onFault(`${this.name} ended: ${String(error)}`);
    });
    return Promise.resolve({
      stop: async () => {
        stopping.abort();
        await living;
      },
    });
  }

  async #live(standby: Standby): Promise<void> {
    const { engine, signal, life } = standby;
    while (!signal.aborted) {
      const isSnapshotNeeded = await this.#follow(standby);
      if (!isSnapshotNeeded) continue;
      this.ground.count('snapshot needed');
      this.#mirrorCopy = null;
      try {
        const databasePath = this.disk.databasePath;
        const source = { name: engine.name, getSnapshot: this.#snapshotFor(life, engine) };
        if (await bootstrap({ databasePath, source, signal })) this.ground.count('snapshot taken');
        else await rest(1_000, signal);
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        await rest(500, signal);
      }
    }
  }

  /** A kill ends it: what it holds is let go, as the kernel would. */
  #snapshotFor(life: Life, engine: SimulatedEngine): SimulatedEngine['getSnapshot'] {
    const dead = life.death.then((): never => {
      throw new TransportError('killed');
    });
    dead.catch(() => undefined);
    return (into) => Promise.race([engine.getSnapshot(into), dead]);
  }

  /** Until stopped. @returns whether both files must be replaced. */
  async #follow(standby: Standby): Promise<boolean> {
    const { life, engine, log, signal } = standby;
    const ending = new AbortController();
    const until = AbortSignal.any([signal, ending.signal]);
    let store: Store;
    let shared: SharedLog | undefined;
    let parts: StoreParts | undefined;
    try {
      store = await this.#openStore(life, log, (given) => {
        parts = given;
        const appliedSeq = (): number => given.projection.appliedSeq;
        return (shared = new SharedLog({ log: given.log, engine, origin: engine.name, appliedSeq }));
      });
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'unfit_copy') return true;
      throw error;
    }
    const opened = this.#assemble({ store, shared: present(shared), parts: present(parts), standby, until });
    this.#open = opened;
    const noting = setInterval(() => opened.shared.note(), 250);
    const clock = createClock(Math.max(store.life.aliveAtMs ?? 0, store.life.lastAtMs ?? 0));
    const heartbeat = createHeartbeat(heartbeatOf(store), Date.now);
    heartbeat.begin();
    const telling = tellOfReplica(engine.presence, this.name, () => this.#note(opened), until);
    const leading = opened.lead.run(until);
    let isSnapshotNeeded = false;
    try {
      await store.opened;
      await opened.replicator.run(until);
    } catch (error) {
      if (!(error instanceof SnapshotNeeded)) throw error;
      isSnapshotNeeded = true;
    }
    clock.now();
    clearInterval(noting);
    ending.abort();
    opened.shared.giveUp(new StoreError('closed', 'nobody copies any more'), { forGood: true });
    await Promise.all([leading, telling]);
    await heartbeat.stop();
    if (life.alive) this.#open = null;
    await store.close();
    return isSnapshotNeeded;
  }

  #assemble({
    store,
    shared,
    parts,
    standby: { life, engine, log },
    until,
  }: {
    readonly store: Store;
    readonly shared: SharedLog;
    readonly parts: StoreParts;
    readonly standby: Standby;
    readonly until: AbortSignal;
  }): Open {
    const { log: client, projection } = parts;
    const standing = {
      epoch: client.epoch,
      lastSeq: client.lastSeq,
      cursor: client.copiedFrom?.cursor ?? null,
    };
    const replicator: Replicator = new Replicator(
      {
        source: engine,
        copy: (args) => client.copy(args),
        applied: (seq) => projection.applied(seq),
        onCopied: (positions, places) => shared.copied(positions, places),
        onLevel: () => undefined,
        onTrouble: () => undefined,
        log,
      },
      standing,
    );
    let lostAtMs: number | null = null;
    const isFit = async (): Promise<boolean> => {
      const { trouble, levelAtMs } = replicator.state;
      lostAtMs = trouble === LOST ? (lostAtMs ?? performance.now()) : null;
      if (trouble === null) return levelAtMs !== null && performance.now() - levelAtMs < LEVEL_WITHIN_MS;
      if (lostAtMs === null || performance.now() - lostAtMs < LOST_FOR_MS) return false;
      const others = await replicasIn(engine.presence);
      const mine = replicator.standing.lastSeq;
      return [...others.values()].every(({ lastSeq }) => lastSeq <= mine);
    };
    const opened: Open = {
      store,
      parts,
      shared,
      replicator,
      lead: new Lead({
        lease: engine.lease,
        name: this.name,
        isFit,
        lead: (signal) => this.#lead({ life, engine, log, signal: AbortSignal.any([signal, until]) }, opened),
        log,
      }),
    };
    return opened;
  }

  #note({ replicator }: Open): ReplicaNote {
    const { epoch, lastSeq } = replicator.standing;
    const { levelAtMs } = replicator.state;
    return {
      epoch,
      lastSeq,
      isLevel: levelAtMs !== null && performance.now() - levelAtMs < LEVEL_WITHIN_MS,
    };
  }

  async #lead({ life, engine, log, signal }: Standby, { store, replicator, parts }: Open): Promise<void> {
    this.ground.count('led');
    const { projection } = parts;
    await store.opened;
    await projection.applied(replicator.standing.lastSeq);
    const clock = createClock(Math.max(store.life.aliveAtMs ?? 0, store.life.lastAtMs ?? 0));
    const began = await engine.keepHistory({
      ...replicator.standing,
      changeSeq: this.#changeSeq(),
      nowMs: clock.now(),
    });
    if (began) this.ground.count('a new history');
    const begunMs = performance.now();
    while ((replicator.state.levelAtMs ?? 0) < begunMs && !signal.aborted) await rest(100, signal);
    if (signal.aborted) return;
    const { reconciler, stop } = createReading({
      config: this.#config(),
      store,
      clock,
      log,
      monitor: null,
      platform: { random: this.ground.random, connect: ({ now = Date.now }) => this.#connect(life, now) },
    });
    this.#reconciler = reconciler;
    try {
      if ((await store.reader.ask('lastFullSync')) === null) await reconciler.repairSilence(null);
      else await store.writer.command('settle', undefined);
      reconciler.start();
      await Promise.all([
        this.#again(signal, 5_000, SNAPSHOT_EVERY_MS, () => this.#putSnapshot(engine, replicator.standing)),
        this.#again(signal, PRUNE_EVERY_MS, PRUNE_EVERY_MS, () => this.#prune(store, clock.now())),
      ]);
    } finally {
      if (this.#reconciler === reconciler) this.#reconciler = null;
      await stop();
    }
  }

  /** What fails is tried again at its next time. */
  async #again(
    signal: AbortSignal,
    firstMs: number,
    everyMs: number,
    work: () => Promise<void>,
  ): Promise<void> {
    for (let ms = firstMs; !signal.aborted; ms = everyMs) {
      await rest(ms, signal);
      if (signal.aborted) return;
      await work().catch((error: unknown) => {
        if (!(error instanceof TransportError) && !(error instanceof StoreError)) throw error;
      });
    }
  }

  async #prune(store: Store, nowMs: number): Promise<void> {
    const { keptMs } = this.#settings;
    if (keptMs === null) return;
    const pruned = await store.writer.prune({ nowMs, beforeMs: nowMs - keptMs, limit: PRUNED_AT_ONCE });
    if (pruned.log > 0) this.ground.count('pruned by the lead');
  }

  async #putSnapshot(engine: SimulatedEngine, { epoch, lastSeq }: Standing): Promise<void> {
    const copy = this.disk.backUp();
    const mirror = `${this.disk.databasePath}.put.db`;
    const log = eventLogPath(mirror);
    writeFileSync(mirror, copy.mirror);
    writeFileSync(log, copy.log);
    try {
      await engine.putSnapshot({ mirror, log }, { epoch, lastSeq });
    } finally {
      for (const path of [mirror, log]) rmSync(path, { force: true });
    }
  }

  #changeSeq(): number {
    const db = this.disk.openForReading();
    try {
      return db.prepare<[], number>('SELECT change_seq FROM mirror_state').pluck().get() ?? 0;
    } finally {
      db.close();
    }
  }

  #openStore(life: Life, log: Logger, share: (parts: StoreParts) => SharedLog): Promise<Store> {
    const { time, onFault, random } = this.ground;
    const reading: ThreadPace = { messageMs: () => random() * 3, workMs: () => random() * 2 };
    return openStore(
      this.disk.databasePath,
      {
        onDeath: (error) => {
          if (life.alive) onFault(`${this.name}: the store died: ${error.message}`);
        },
        onNews: ({ message }) => log.warn(message),
        onApplyNews: ({ message, error }) => log.warn({ err: error }, message),
      },
      {
        log: () =>
          startFakeThread(time, life, this.pace(), (owner) =>
            serveEventLog(owner, () => this.disk.openLog(() => life.alive)),
          ),
        projection: () =>
          startFakeThread(time, life, this.pace(), (owner) =>
            serveProjection(
              owner,
              () => this.disk.openMirror(() => life.alive, this.#settings.onOpen),
              () => undefined,
            ),
          ),
        reader: () =>
          startFakeThread(time, life, reading, (owner) =>
            serveReader(owner, () => this.disk.openForReading()),
          ),
      },
      share,
    );
  }

  #connect(life: Life, now: () => number): ReturnType<typeof connectOver> {
    const { credentials, transport } = this.#settings;
    return connectOver({
      transport: transport(life, now),
      close: () => Promise.resolve(),
      credentials,
      file: createTokenMemory(),
      random: this.ground.random,
      onFileError: (error) => this.ground.onFault(`token file: ${String(error)}`),
    });
  }

  #config(): Pick<Config, 'service' | 'database' | 'schedules'> {
    const { credentials, maxConcurrency, maxRps, schedules } = this.#settings;
    return {
      service: {
        baseUrl: 'http://service.invalid',
        clientId: credentials.clientId,
        clientSecret: new Secret(credentials.clientSecret),
        webhookSecrets: [new Secret('unused')],
        maxConcurrency,
        maxRps,
      },
      database: { path: this.disk.databasePath },
      schedules,
    };
  }
}
