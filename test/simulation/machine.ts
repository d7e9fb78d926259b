/** Runs the real service on virtual time, one process at a time, and kills it anywhere. */
import { startService, type Platform, type RunningService } from '../../src/app/service.ts';
import type { Config } from '../../src/config/config.ts';
import { createOpsApp } from '../../src/ops/app.ts';
import { Secret } from '../../src/platform/secret.ts';
import type { Engine } from '../../src/stream/engine.ts';
import { connectOver } from '../../src/store-api/client.ts';
import type { TokenFile, TokenState } from '../../src/store-api/token/token-file.ts';
import type { Transport } from '../../src/store-api/transport/transport.ts';
import { serveQueries } from '../../src/mirror/reader/serve-queries.ts';
import { serveInbox } from '../../src/inbox/serve-inbox.ts';
import type { Thread } from '../../src/platform/thread.ts';
import { serveApply, type OwnMirror } from '../../src/mirror/writer/serve-apply.ts';
import { Disk } from './disk.ts';
import { startFakeThread, type ThreadPace } from './fake-thread.ts';
import { HOSTS, type GlobalTime } from './globals.ts';
import { incomingOf } from './incoming.ts';
import { processLog } from './process-log.ts';
import { present } from '../shared/present.ts';
import { newLife, WORLD, type Life, type VirtualTime } from './virtual-time.ts';

interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecrets: readonly [string, ...string[]];
}

export interface MachineOptions {
  readonly time: VirtualTime;
  readonly globals: GlobalTime;
  readonly random: () => number;
  readonly credentials: Credentials;
  /** A fixed time zone makes seeds reproducible. */
  readonly schedules: Config['schedules'] & { readonly timezone: string };
  readonly maxConcurrency: number;
  readonly maxRps: number;
  readonly transport: (life: Life, now: () => number) => Transport;
  readonly log: (line: string) => void;
  readonly onFault: (what: string) => void;
  readonly onOpen: (own: OwnMirror) => void;
  readonly onEnded: () => void;
  /** Its part in a stream; without it, this is the only host. */
  readonly stream?: {
    readonly role: Config['role'];
    readonly connect: (life: Life) => Promise<Engine>;
    readonly wallOffsetMs: () => number;
  };
}

type Fetch = (request: Request, bindings: unknown) => Response | Promise<Response>;

interface Process {
  readonly life: Life;
  readonly listeners: Map<number, Fetch>;
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
  readonly disk = new Disk();
  readonly #options: MachineOptions;
  #process: Process | null = null;
  #tokenState: TokenState | null = null;
  #tokenSecret = '';
  slowCommitMs = 0;
  slowApplyMs = 0;
  instantReads = true;
  /** Effects left until the planned kill; null if none is planned. */
  #killAfterEffects: number | null = null;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.disk.onCommit = () => this.effect();
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
    this.kill();
    throw new Error('killed');
  }

  killAfter(effects: number): void {
    this.#killAfterEffects = Math.max(1, effects);
  }

  cancelKill(): void {
    this.#killAfterEffects = null;
  }

  async start(): Promise<void> {
    if (this.#process !== null) return;
    const { globals, onFault } = this.#options;
    const life = newLife();
    const process: Process = { life, listeners: new Map(), service: null };
    this.#process = process;
    globals.life = life;
    try {
      const service = await this.#inside(life, () =>
        startService(
          this.#config(),
          processLog({ ...this.#options, life }),
          (error) => {
            if (life.alive) onFault(`the store died: ${error.message}`);
          },
          this.#platform(process),
        ),
      );
      if (life.alive) process.service = service;
    } catch (error) {
      if (!life.alive) return;
      this.#options.log(`the start failed: ${String(error)}`);
      this.kill();
    }
  }

  kill(): void {
    const process = this.#process;
    if (process === null) return;
    this.#process = null;
    this.#killAfterEffects = null;
    process.life.end();
    this.#options.onEnded();
    this.#options.globals.life = process.life;
    this.#options.time.after(0, WORLD, () => this.disk.closeAll());
  }

  async stop(): Promise<void> {
    const process = this.#process;
    const service = process?.service ?? null;
    if (process === null || service === null) {
      this.kill();
      return;
    }
    process.service = null;
    process.listeners.clear();
    await this.#inside(process.life, () => service.stop());
    if (!process.life.alive) return;
    process.life.end();
    this.#options.onEnded();
    this.#process = null;
    this.disk.closeAll();
  }

  standStill(ms: number): void {
    const life = this.#process?.life;
    if (life === undefined) return;
    life.standsStillUntilMs = Math.max(life.standsStillUntilMs, this.#options.time.nowMs + ms);
  }

  async request(port: keyof typeof PORT, request: Request, body: Uint8Array): Promise<Response | null> {
    const process = this.#process;
    const fetch = process?.listeners.get(PORT[port]);
    if (process === null || fetch === undefined) return null;
    const { time } = this.#options;
    const { life } = process;
    if (life.standsStillUntilMs > time.nowMs) await time.sleep(life.standsStillUntilMs - time.nowMs, WORLD);
    if (!life.alive) return null;
    const incoming = incomingOf(request, body);
    const answered = this.#inside(life, () => fetch(request, { incoming }));
    const answer = await Promise.race([answered, life.death]);
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

  #inside<T>(life: Life, work: () => T): T {
    const { stream } = this.#options;
    if (stream === undefined) return work();
    const host = {
      life,
      get wallOffsetMs() {
        return stream.wallOffsetMs();
      },
    };
    return HOSTS.run(host, work);
  }

  #platform(process: Process): Platform {
    const { time, random, transport } = this.#options;
    const { life } = process;
    const pace: ThreadPace = {
      messageMs: () => random() * 2,
      workMs: () => 0.3 + random() * 2 + this.slowCommitMs,
    };
    const applying: ThreadPace = {
      messageMs: () => random() * 2,
      workMs: () => 0.3 + random() * 2 + this.slowApplyMs,
    };
    const reading: ThreadPace = { messageMs: () => random() * 3, workMs: () => random() * 2 };
    const instant: ThreadPace = { messageMs: () => 0, workMs: () => 0 };
    return {
      random,
      threads: () => ({
        inbox: () =>
          this.#watched(
            startFakeThread(time, life, pace, (owner) =>
              serveInbox(owner, () => this.disk.openInbox(() => life.alive)),
            ),
          ),
        apply: (options) =>
          this.#watched(
            startFakeThread(time, life, applying, (owner) =>
              serveApply(owner, () => this.disk.openMirror(options, () => life.alive, this.#options.onOpen)),
            ),
          ),
        query: () =>
          startFakeThread(time, life, this.instantReads ? instant : reading, (owner) =>
            serveQueries(owner, () => this.disk.openForReading()),
          ),
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
      loadOps: () => Promise.resolve({ createOpsApp }),
      listen: (app, { host, port }) => {
        process.listeners.set(port, app.fetch as Fetch);
        return Promise.resolve({
          host,
          port,
          stop: () => {
            process.listeners.delete(port);
            return Promise.resolve();
          },
        });
      },
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
    const { schedules, maxConcurrency, maxRps, stream } = this.#options;
    const { clientId, clientSecret, webhookSecrets } = this.#options.credentials;
    const [first, ...others] = webhookSecrets;
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
      webhook: { host: '127.0.0.1', port: PORT.webhook },
      ops: { host: '127.0.0.1', port: PORT.ops, token: null, readToken: null },
      schedules,
      warehouseNames: new Map(),
      retentionDays: 30,
      stream: stream === undefined ? null : STREAM,
      role: stream?.role ?? 'both',
      logLevel: 'info',
      warnings: [],
    };
  }
}
