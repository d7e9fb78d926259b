/**
 * Runs the real service on virtual time, and kills it anywhere. A machine runs one process at a time: the
 * whole service, or one half of it, next to a second machine that has the same disk and runs the other half.
 */
import type { Platform, RunningService } from '../../src/app/platform.ts';
import { startMirrorHost } from '../../src/app/mirror-host.ts';
import { startReceiverHost } from '../../src/app/receiver-host.ts';
import type { Config } from '../../src/config/config.ts';
// Loaded ahead: the service loads it when it starts, and virtual time does not wait for that.
import '../../src/ops/app.ts';
import { Secret } from '../../src/platform/secret.ts';
import type { Engine } from '../../src/stream/engine.ts';
import { connectOver } from '../../src/store-api/client.ts';
import type { TokenFile, TokenState } from '../../src/store-api/token/token-file.ts';
import type { Transport } from '../../src/store-api/transport/transport.ts';
import type { HostTime } from '../../src/platform/host-time.ts';
import type { Unread } from '../../src/platform/listen.ts';
import type { Thread } from '../../src/platform/thread.ts';
import type { ApplyThread } from '../../src/mirror/mirror.ts';
import { ApplyServer } from '../../src/mirror/writer/serve-apply.ts';
import { Disk, type DiskUser, type OnOpen } from './disk.ts';
import { startFakeThread, type ThreadPace } from './fake-thread.ts';
import { HOSTS, type GlobalTime } from './globals.ts';
import { incomingOf } from './incoming.ts';
import type { KernelSocket } from './kernel-socket.ts';
import type { Settings } from './life-plan.ts';
import { processLog } from './process-log.ts';
import { present } from '../shared/present.ts';
import { newLife, WORLD, type Life, type VirtualTime } from './virtual-time.ts';

interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecrets: readonly [string, ...string[]];
}

/** Settings that take effect at the next start. */
type StartSettings = Omit<Settings, 'isSecretReplaced'>;

export interface Answered {
  readonly response: Response;
  /** The process read the request: until then it waited in the kernel's queue. */
  readonly acceptedAtMs: number;
  /** Those of the process that answered. */
  readonly webhookSecrets: readonly string[];
}

interface Serving extends Pick<Answered, 'webhookSecrets'> {
  readonly life: Life;
  readonly app: App;
}

export interface MachineOptions {
  readonly time: VirtualTime;
  readonly globals: GlobalTime;
  readonly random: () => number;
  readonly credentials: Credentials;
  readonly settings: StartSettings;
  readonly transport: (life: Life, now: () => number) => Transport;
  readonly log: (line: string) => void;
  readonly onFault: (what: string) => void;
  readonly onOpen: OnOpen;
  readonly onEnded: () => void;
  /** The process or its start has failed; null if that is a fault of the program. */
  readonly onFailure: ((what: string) => void) | null;
  readonly role: Config['role'];
  /** Shared with the machine that runs the other half; by default a new one. */
  readonly disk?: Disk;
  /** Its part in a stream; without it, this is the only host. */
  readonly stream?: {
    readonly connect: (life: Life) => Promise<Engine>;
    readonly wallOffsetMs: () => number;
  };
}

type ApplyOwner = ConstructorParameters<typeof ApplyServer>[0];

interface App {
  readonly fetch: (request: Request, bindings: unknown) => Response | Promise<Response>;
  readonly onUnread?: (unread: Unread) => void;
}

interface Process {
  readonly life: Life;
  readonly user: DiskUser;
  readonly listeners: Map<number, App>;
  /** Those of its start. */
  readonly webhookSecrets: readonly string[];
  service: RunningService | null;
}

const PORT = { webhook: 8787, ops: 8788 } as const;
const STREAM = {
  servers: ['nats://stream.invalid'],
  name: 'stock',
  user: null,
  password: null,
  caFile: null,
};

export class Machine {
  readonly disk: Disk;
  readonly #options: MachineOptions;
  #process: Process | null = null;
  #tokenState: TokenState | null = null;
  #tokenSecret = '';
  #slowCommitMs = 0;
  slowestCommitMs = 0;
  slowApplyMs = 0;
  settings: StartSettings;
  webhookSecrets: readonly [string, ...string[]];
  /** The public port's socket, if the service manager opens it. */
  socket: KernelSocket | null = null;
  isSuspended = false;
  /** So far, and until the end of the present suspension. */
  #suspendedMs = 0;
  #suspendedUntilMs = 0;
  /** Called at the planned kill. */
  #onKilled: () => void = () => undefined;
  /** Effects left until the planned kill; null if none is planned. */
  #killAfterEffects: number | null = null;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.settings = options.settings;
    this.webhookSecrets = options.credentials.webhookSecrets;
    this.disk = options.disk ?? new Disk();
  }

  get slowCommitMs(): number {
    return this.#slowCommitMs;
  }

  set slowCommitMs(ms: number) {
    this.#slowCommitMs = ms;
    this.slowestCommitMs = Math.max(this.slowestCommitMs, ms);
  }

  get isRunning(): boolean {
    return (this.#process?.service ?? null) !== null;
  }

  get life(): Life | null {
    return this.#process?.life ?? null;
  }

  effect(): void {
    if (this.#killAfterEffects === null || this.#process === null) return;
    this.#killAfterEffects -= 1;
    if (this.#killAfterEffects > 0) return;
    const onKilled = this.#onKilled;
    this.kill();
    onKilled();
    throw new Error('killed');
  }

  killAfter(effects: number, onKilled: () => void = () => undefined): void {
    this.#killAfterEffects = Math.max(1, effects);
    this.#onKilled = onKilled;
  }

  cancelKill(): void {
    this.#killAfterEffects = null;
  }

  async start(): Promise<void> {
    if (this.#process !== null) return;
    const { globals } = this.#options;
    const life = newLife();
    const user: DiskUser = { isAlive: () => life.alive, onCommit: () => this.effect() };
    const { webhookSecrets } = this;
    const process: Process = { life, user, listeners: new Map(), webhookSecrets, service: null };
    this.#process = process;
    globals.life = life;
    try {
      const service = await this.#inside(life, () =>
        (this.#options.role === 'receiver' ? startReceiverHost : startMirrorHost)(
          this.#config(),
          processLog({ ...this.#options, life }),
          (error) => {
            if (life.alive) this.#failed(`the process ended: ${error.message}`);
          },
          this.#platform(process),
        ),
      );
      if (life.alive) process.service = service;
    } catch (error) {
      if (!life.alive) return;
      this.#options.log(`the start failed: ${String(error)}`);
      this.kill();
      this.#options.onFailure?.(`the start failed: ${String(error)}`);
    }
  }

  #failed(what: string): void {
    const { onFailure, onFault, log } = this.#options;
    if (onFailure === null) {
      onFault(what);
      return;
    }
    log(what);
    this.kill();
    onFailure(what);
  }

  kill(): void {
    const process = this.end();
    if (process !== null) this.#options.time.after(0, WORLD, () => this.disk.closeAllOf(process.user));
  }

  /** Ends the process and leaves its files as they are. @returns null if there was none. */
  end(): Pick<Process, 'user'> | null {
    const process = this.#process;
    if (process === null) return null;
    this.#process = null;
    this.#killAfterEffects = null;
    this.#onKilled = () => undefined;
    process.life.end();
    this.#options.onEnded();
    this.#options.globals.life = process.life;
    return process;
  }

  /** @returns false if the process was killed before its end. */
  async stop(): Promise<boolean> {
    const process = this.#process;
    const service = process?.service ?? null;
    if (process === null || service === null) {
      this.kill();
      return false;
    }
    process.service = null;
    process.listeners.clear();
    await this.#inside(process.life, () => service.stop());
    if (!process.life.alive) return false;
    process.life.end();
    this.#options.onEnded();
    this.#process = null;
    this.disk.closeAllOf(process.user);
    return true;
  }

  standStill(ms: number): void {
    const life = this.#process?.life;
    if (life === undefined) return;
    life.standsStillUntilMs = Math.max(life.standsStillUntilMs, this.#options.time.nowMs + ms);
  }

  /** The whole machine stands still, also its kernel. */
  suspend(ms: number): void {
    const { time } = this.#options;
    this.isSuspended = true;
    const untilMs = time.nowMs + ms;
    this.#suspendedMs += Math.max(0, untilMs - Math.max(this.#suspendedUntilMs, time.nowMs));
    this.#suspendedUntilMs = Math.max(this.#suspendedUntilMs, untilMs);
    time.after(ms, WORLD, () => (this.isSuspended = false));
    this.standStill(ms);
  }

  async request(port: keyof typeof PORT, request: Request, body: Uint8Array): Promise<Answered | null> {
    const serving = await this.#serving(port);
    if (serving === null) return null;
    const { life, app, webhookSecrets } = serving;
    const { time } = this.#options;
    const acceptedAtMs = time.nowMs;
    const incoming = incomingOf(request, body);
    const answered = this.#inside(life, () => app.fetch(request, { incoming }));
    const response = await Promise.race([answered, life.death]);
    return response === undefined || !life.alive ? null : { response, acceptedAtMs, webhookSecrets };
  }

  /** A request that the listener of the public port refuses before anything reads it. */
  async refuse(unread: Unread): Promise<void> {
    const serving = await this.#serving('webhook');
    if (serving !== null) this.#inside(serving.life, () => serving.app.onUnread?.(unread));
  }

  /** Those of the process that runs, or else of the next one. */
  get presentSecrets(): readonly string[] {
    return this.#process?.webhookSecrets ?? this.webhookSecrets;
  }

  /** @returns the process that accepts a connection; null if it is refused or dropped. */
  async #serving(port: keyof typeof PORT): Promise<Serving | null> {
    const { time } = this.#options;
    for (;;) {
      if (this.isSuspended) return null;
      const process = this.#process;
      const app = process?.listeners.get(PORT[port]);
      if (process !== null && app !== undefined) {
        const { life } = process;
        const standsStillMs = life.standsStillUntilMs - time.nowMs;
        if (standsStillMs > 0) await Promise.race([time.sleep(standsStillMs, WORLD), life.death]);
        if (life.alive) return { life, app, webhookSecrets: process.webhookSecrets };
        // The kernel hands what the process had not accepted to the next one, if it keeps the socket.
        continue;
      }
      const socket = port === 'webhook' ? this.socket : null;
      if (socket === null || !(await socket.connect())) return null;
    }
  }

  async ask(path: string, body?: unknown): Promise<{ status: number; json: unknown } | null> {
    const request = new Request(`http://127.0.0.1:${PORT.ops}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const answer = await this.request('ops', request, new Uint8Array());
    if (answer === null) return null;
    return { status: answer.response.status, json: await answer.response.json() };
  }

  #inside<T>(life: Life, work: () => T): T {
    const { stream, globals } = this.#options;
    const wallOffsetMs = stream?.wallOffsetMs ?? (() => globals.wallOffsetMs);
    const host = {
      life,
      get wallOffsetMs() {
        return wallOffsetMs();
      },
    };
    return HOSTS.run(host, work);
  }

  #platform(process: Process): Platform {
    const { time, random, transport } = this.#options;
    const { life, user } = process;
    const applying: ThreadPace = {
      messageMs: () => random() * 2,
      workMs: () => 0.3 + random() * 2 + this.slowApplyMs,
    };
    const host = this.#host();
    return {
      random,
      host,
      receiverThread: null,
      files: () => ({
        openInbox: () => this.disk.openInboxForReading(user),
        apply: (opening) => {
          const beganMs = host.sinceBootMs();
          const now = (): number => opening.nowMs + host.sinceBootMs() - beganMs;
          const thread: ApplyThread = startFakeThread(time, life, applying, (owner: ApplyOwner) =>
            new ApplyServer(owner).start(() =>
              this.disk.openMirror({ ...opening, now }, user, this.#options.onOpen),
            ),
          );
          return this.#watched({
            ...thread,
            stop: () => {
              this.disk.terminate('mirror');
              return thread.stop();
            },
          });
        },
        openReader: () => this.disk.openForReading(user),
      }),
      connect: ({ clientId, clientSecret, now = Date.now }) =>
        connectOver({
          transport: transport(life, now),
          close: () => Promise.resolve(),
          credentials: { clientId, clientSecret },
          file: this.#tokenFile(clientSecret),
          random,
          onFileError: (error) => this.#options.onFault(`token file: ${String(error)}`),
        }),
      connectStream: () => present(this.#options.stream).connect(life),
      listen: this.#listen(process),
      passedSocket: () => {
        const { inode, isFull } = present(this.socket);
        return { inode, wasQueueFull: isFull };
      },
      openInbox: (_, options) => this.disk.openInbox(user, options),
      openInboxReader: () => this.disk.openInboxForReading(user),
      // A commit takes its time before it happens, and the process may be killed before it.
      later: (work) => {
        const commitMs = 0.3 + random() * 4 + this.slowCommitMs;
        time.after(commitMs, life, () => {
          if (this.#survives()) work();
        });
      },
    };
  }

  #listen(process: Process): Platform['listen'] {
    return (app, { host, port }) => {
      process.listeners.set(port, app as App);
      if (port === PORT.webhook) this.socket?.served();
      return Promise.resolve({
        host,
        port,
        isQueueFull: () => false,
        stop: () => {
          process.listeners.delete(port);
          return Promise.resolve();
        },
      });
    };
  }

  #host(): HostTime {
    const { time, globals } = this.#options;
    return {
      wallMs: Date.now,
      sinceBootMs: () => Math.floor(time.nowMs - globals.bootedAtMs),
      monotonicMs: () => Math.floor(time.nowMs - globals.bootedAtMs - this.#suspendedMs),
      bootId: `boot at ${globals.bootedAtMs}`,
    };
  }

  #watched<In, Out>(thread: Thread<In, Out>): Thread<In, Out> {
    return {
      ...thread,
      post: (message) => {
        if (this.#survives()) thread.post(message);
      },
      onMessage: (listener) =>
        thread.onMessage((message) => {
          if (this.#survives()) listener(message);
        }),
    };
  }

  #survives(): boolean {
    try {
      this.effect();
      return true;
    } catch {
      return false;
    }
  }

  get isLockedOut(): boolean {
    return (this.#tokenState?.lockout ?? null) !== null;
  }

  #tokenFile(secret: string): TokenFile {
    return {
      read: () => Promise.resolve(this.#tokenSecret === secret ? this.#tokenState : null),
      write: (state) => {
        this.#tokenState = structuredClone(state);
        this.#tokenSecret = secret;
        return Promise.resolve();
      },
    };
  }

  #config(): Config {
    const { stream } = this.#options;
    const { clientId, clientSecret } = this.#options.credentials;
    const { maxConcurrency, maxRps, retentionDays, ...crons } = this.settings;
    const [first, ...others] = this.webhookSecrets;
    // A fixed time zone makes seeds reproducible.
    const schedules = { ...crons, timezone: 'UTC' };
    return {
      service: {
        baseUrl: 'http://service.invalid',
        clientId,
        clientSecret: new Secret(clientSecret),
        webhookSecrets: [new Secret(first), ...others.map((secret) => new Secret(secret))],
        maxConcurrency,
        maxRps,
      },
      database: { path: this.disk.databasePath },
      webhook: {
        host: '127.0.0.1',
        port: PORT.webhook,
        ...(this.socket === null ? {} : { fd: this.socket.fd }),
      },
      ops: { host: '127.0.0.1', port: PORT.ops, token: null, readToken: null },
      schedules,
      warehouseNames: new Map(),
      alerts: { url: null, pingUrl: null },
      retentionDays,
      stream: stream === undefined ? null : STREAM,
      role: this.#options.role,
      command: null,
      logLevel: 'info',
      logFormat: null,
      journalStream: null,
      warnings: [],
    };
  }
}
