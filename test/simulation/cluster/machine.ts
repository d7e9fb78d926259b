/**
 * A machine of several: its clock, its disk, its way to the engine, and one process at a time of the real program, that
 * can be killed anywhere.
 */
import { writeFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openOutbox } from '../../../src/app/open-outbox.ts';
import { startShared, type SharedPlatform } from '../../../src/app/shared.ts';
import type { RunningService } from '../../../src/app/compose.ts';
import type { Config, SharedConfig } from '../../../src/config/config.ts';
import type { Role } from '../../../src/config/schemas.ts';
import { serveEventLog } from '../../../src/event-log/append-loop.ts';
import { eventLogPath, openLogForReading } from '../../../src/event-log/open-log.ts';
import { openOutbox as openOutboxLog } from '../../../src/event-log/outbox.ts';
import { openOwnLog } from '../../../src/event-log/own-log.ts';
import { openStore } from '../../../src/mirror/open-store.ts';
import { serveReader } from '../../../src/mirror/reader/read-loop.ts';
import { serveProjection } from '../../../src/mirror/writer/apply-loop.ts';
import { createOpsApp } from '../../../src/ops/app.ts';
import type { ReplicationView } from '../../../src/ops/condition/replication.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { fetchSnapshot, reserveFiles } from '../../../src/replication/bootstrap.ts';
import { TransportError } from '../../../src/replication/transport.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { connectOver } from '../../../src/store-api/connect.ts';
import { createTokenMemory } from '../../../src/store-api/token-memory.ts';
import type { Transport } from '../../../src/store-api/transport/transport.ts';
import { Disk } from '../disk.ts';
import { startFakeThread, type ThreadPace } from '../fake-thread.ts';
import type { Host } from '../globals.ts';
import { incomingOf } from '../incoming.ts';
import { processLog } from '../process-log.ts';
import { lifeAtWork, newLife, within, WORLD, type Life, type VirtualTime } from '../virtual-time.ts';
import type { Broker } from '../../replication/simulated/broker.ts';
import { SimulatedEngine, type Way } from '../../replication/simulated/engine.ts';

/** What all machines stand on. */
interface Ground {
  readonly time: VirtualTime;
  readonly broker: Broker;
  readonly random: () => number;
  readonly trace: (line: string) => void;
  /** Something that must never happen. */
  readonly onFault: (what: string) => void;
  readonly count: (what: string) => void;
}

interface MachineOptions {
  readonly name: string;
  readonly roles: readonly Role[];
  readonly service: Config['service'];
  readonly schedules: Config['schedules'];
  /** A fraction, so that something is pruned within minutes. */
  readonly retentionDays: number;
  readonly transport: (life: Life, now: () => number) => Transport;
  /** Sees every connection of the projection, and one to the event log. */
  readonly onOpen: (db: Db, log: Db) => void;
}

type Fetch = (request: Request, bindings: unknown) => Response | Promise<Response>;

interface Process {
  readonly life: Life;
  readonly listeners: Map<number, Fetch>;
  service: RunningService | null;
}

const PORT = { webhook: 8787, ops: 8788 } as const;
const INSTANT: ThreadPace = { messageMs: () => 0, workMs: () => 0 };

/** Whose wall clock it is. */
const machines = new WeakMap<Life, Machine>();

/** The machine whose code runs; the world's clock is right. */
export function hostAtWork(): Host {
  const life = lifeAtWork();
  return { life, wallOffsetMs: machines.get(life)?.wallOffsetMs ?? 0 };
}

export class Machine {
  readonly name: string;
  readonly disk = new Disk();
  readonly way: Way = { isCut: false, lossShare: 0, wayMs: 3, timeoutMs: 3_000 };
  /** How far its wall clock is off. */
  wallOffsetMs = 0;
  /** A slow disk makes every commit wait. */
  slowCommitMs = 0;
  readonly roles: ReadonlySet<Role>;
  readonly #ground: Ground;
  readonly #options: MachineOptions;
  #process: Process | null = null;
  /** What of the mirror is on disk for good: it is synced seldom. */
  #syncedMirror: Uint8Array | null = null;

  constructor(options: MachineOptions, ground: Ground) {
    this.name = options.name;
    this.roles = new Set(options.roles);
    this.#options = options;
    this.#ground = ground;
  }

  get life(): Life | null {
    return this.#process?.life ?? null;
  }

  get isRunning(): boolean {
    return (this.#process?.service ?? null) !== null;
  }

  get isReplica(): boolean {
    return this.roles.has('replica');
  }

  /** Webhooks reach it. */
  get listens(): boolean {
    return this.#process?.listeners.has(PORT.webhook) ?? false;
  }

  /** Starts a process; does nothing while one lives. Resolves once it listens, or has refused to. */
  async start(): Promise<void> {
    if (this.#process !== null) return;
    const life = newLife();
    const process: Process = { life, listeners: new Map(), service: null };
    this.#process = process;
    machines.set(life, this);
    this.#say('starts');
    try {
      const service = await within(life, () =>
        startShared(
          this.#config(),
          processLog({ ...this.#ground, life, log: (line) => this.#say(line) }),
          (error) => {
            if (life.alive) this.#ground.onFault(`${this.name} died: ${error.stack}`);
          },
          this.#platform(process),
        ),
      );
      if (life.alive) process.service = service;
    } catch (error) {
      if (!life.alive) return;
      this.#ground.onFault(`${this.name} did not start: ${String(error)}`);
      this.kill();
    }
  }

  /** kill -9: nothing of the process happens from here on. */
  kill(): void {
    const process = this.#process;
    if (process === null) return;
    this.#process = null;
    this.#say('is killed');
    process.life.end();
    // Not from within its own call into SQLite.
    this.#ground.time.after(0, WORLD, () => this.disk.closeAll());
  }

  /** SIGTERM. */
  async stop(): Promise<void> {
    const process = this.#process;
    const service = process?.service ?? null;
    if (process === null || service === null) {
      this.kill();
      return;
    }
    process.service = null;
    this.#say('is asked to stop');
    await Promise.race([within(process.life, () => service.stop()), process.life.death]);
    if (process.life.alive) this.kill();
  }

  /** SIGSTOP for so long, then SIGCONT. */
  standStill(ms: number): void {
    const { life } = this;
    if (life === null) return;
    life.standsStillUntilMs = Math.max(life.standsStillUntilMs, this.#ground.time.nowMs + ms);
  }

  /** A power cut: the mirror comes back as it was some time ago; logs lose nothing. */
  losePower(): void {
    const copy = this.#syncedMirror;
    this.kill();
    if (copy !== null) this.#ground.time.after(1, WORLD, () => this.disk.restore({ mirror: copy }));
  }

  /** The disk syncs the mirror. */
  syncMirror(): void {
    if (this.isReplica && this.isRunning && this.disk.isMirrorThere)
      this.#syncedMirror = this.disk.backUp().mirror;
  }

  /** Its mirror comes back on an empty disk; its outbox does not. */
  loseMirror(): void {
    this.kill();
    this.#syncedMirror = null;
    this.#ground.time.after(1, WORLD, () => this.disk.loseBoth());
  }

  /** A kill between two effects is drawn as a kill at an instant. */
  effect(): void {
    // Nothing is counted here.
  }

  /** What a request to a port is answered; null when nobody listens, or the process dies over it. */
  async request(port: keyof typeof PORT, request: Request, body: Uint8Array): Promise<Response | null> {
    const process = this.#process;
    const fetch = process?.listeners.get(PORT[port]);
    if (process === null || fetch === undefined) return null;
    const { time } = this.#ground;
    const { life } = process;
    if (life.standsStillUntilMs > time.nowMs) await time.sleep(life.standsStillUntilMs - time.nowMs, WORLD);
    if (!life.alive) return null;
    const incoming = incomingOf(request, body);
    const answer = await Promise.race([within(life, () => fetch(request, { incoming })), life.death]);
    return answer === undefined || !life.alive ? null : answer;
  }

  async ask(path: string, body?: unknown): Promise<{ status: number; json: unknown } | null> {
    const request = new Request(`http://127.0.0.1:${PORT.ops}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const answer = await this.request('ops', request, new Uint8Array());
    return answer === null ? null : { status: answer.status, json: await answer.json() };
  }

  /** As the machine itself sees it; null: it does not answer. */
  async view(): Promise<ReplicationView | null> {
    const answer = await this.ask('/api/replication');
    return answer?.status === 200 ? (answer.json as ReplicationView) : null;
  }

  #say(what: string): void {
    this.#ground.trace(`${this.name}: ${what}`);
  }

  #platform({ life, listeners }: Process): SharedPlatform {
    const { time, random, broker, count, onFault } = this.#ground;
    const { name, transport, onOpen } = this.#options;
    const isAlive = (): boolean => life.alive;
    const pace: ThreadPace = {
      messageMs: () => random() * 2,
      workMs: () => 0.3 + random() * 2 + this.slowCommitMs,
    };
    const engine = new SimulatedEngine({
      time: {
        get nowMs() {
          return time.nowMs;
        },
        sleep: (ms) => time.sleep(ms, life),
      },
      broker,
      way: this.way,
      random,
      count,
    });
    return {
      random,
      name: () => name,
      connectLink: () => Promise.resolve({ source: engine, engine }),
      loadOps: () => Promise.resolve({ createOpsApp }),
      connect: ({ clientId, clientSecret, now = Date.now }, shareFile = (file) => file) =>
        connectOver({
          transport: transport(life, now),
          close: () => Promise.resolve(),
          credentials: { clientId, clientSecret },
          file: shareFile(createTokenMemory()),
          random,
          onFileError: (error) => {
            if (!(error instanceof TransportError)) onFault(`token file: ${String(error)}`);
          },
        }),
      listen: (app, host, port) => {
        listeners.set(port, app.fetch as Fetch);
        return Promise.resolve({
          host,
          port,
          stop: () => {
            listeners.delete(port);
            return Promise.resolve();
          },
        });
      },
      openOutbox: (path, events) =>
        openOutbox(path, events, {
          startLog: () =>
            startFakeThread(time, life, pace, (owner) =>
              serveEventLog(owner, () => this.disk.openLog(isAlive, () => openOutboxLog(path))),
            ),
          openReader: (at) => {
            const db = openLogForReading(at);
            this.disk.hold(db);
            return db;
          },
        }),
      openReplica: (path, events, share) =>
        openStore(
          path,
          events,
          {
            log: () =>
              startFakeThread(time, life, pace, (owner) =>
                serveEventLog(owner, () => this.disk.openLog(isAlive, (at) => openOwnLog(at, 'copy'))),
              ),
            projection: () =>
              startFakeThread(time, life, pace, (owner) =>
                serveProjection(
                  owner,
                  () => this.disk.openMirror(isAlive, onOpen),
                  () => undefined,
                ),
              ),
            reader: () =>
              startFakeThread(time, life, INSTANT, (owner) =>
                serveReader(owner, () => this.disk.openForReading()),
              ),
          },
          share,
        ),
      fetchSnapshot: async (args) => {
        // A kill lets go of what it holds, as the kernel would.
        const dead = life.death.then((): never => {
          throw new TransportError('killed');
        });
        dead.catch(() => undefined);
        const getSnapshot: typeof engine.getSnapshot = (into) =>
          Promise.race([engine.getSnapshot(into), dead]);
        const fetched = await fetchSnapshot({ ...args, source: { name: engine.name, getSnapshot } });
        if (fetched === null) return null;
        return {
          putInPlace: () => {
            fetched.putInPlace();
            count('a snapshot was taken');
            this.#syncedMirror = null;
          },
          discard: () => fetched.discard(),
        };
      },
      reserveFiles: (path) => {
        const release = reserveFiles(path);
        // As above.
        return release === null ? null : this.disk.hold({ close: release });
      },
      makeSnapshot: () => {
        count('a snapshot was put');
        const mirror = join(dirname(this.disk.databasePath), 'snapshot-out.db');
        const log = eventLogPath(mirror);
        const copy = this.disk.backUp();
        writeFileSync(mirror, copy.mirror);
        writeFileSync(log, copy.log);
        const remove = (): void => [mirror, log].forEach((path) => rmSync(path, { force: true }));
        return Promise.resolve({ mirror, log, remove });
      },
    };
  }

  #config(): Config & { readonly shared: SharedConfig } {
    const { service, schedules, retentionDays } = this.#options;
    return {
      service,
      database: { path: this.disk.databasePath },
      webhook: { host: '127.0.0.1', port: PORT.webhook },
      ops: { host: '127.0.0.1', port: PORT.ops, token: null },
      schedules,
      warehouseNames: new Map(),
      retentionDays,
      shared: {
        url: { kind: 'engine', urls: ['nats://engine.invalid'] },
        store: 'store',
        replicas: 1,
        user: null,
        password: null,
        token: new Secret('unused'),
        caFile: null,
        roles: this.roles,
      },
      logLevel: 'info',
      warnings: [],
    };
  }
}
