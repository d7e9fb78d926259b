/** Hosts of one stream, with real receivers and inboxes but no socket, on virtual time. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync, writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { inboxPath, openInboxReader } from '../../src/inbox/inbox-file.ts';
import type { Missed } from '../../src/core/input.ts';
import { readMissed } from '../../src/inbox/missed.ts';
import type { StreamReport } from '../../src/inbox/report.ts';
import { openInboxWriter, type InboxWriter } from '../../src/receiver/inbox-writer.ts';
import { Receiver } from '../../src/receiver/receiver.ts';
import { signBody, TEST_HEADER } from '../../src/store-api/signature.ts';
import type { Engine } from '../../src/stream/engine.ts';
import { Stream } from '../../src/stream/stream.ts';
import { newPath, T0 } from '../mirror/mirror-file.ts';
import { present } from '../shared/present.ts';
import { HOSTS, installGlobals } from '../simulation/globals.ts';
import { incomingOf } from '../simulation/incoming.ts';
import { newLife, VirtualTime, type Life } from '../simulation/virtual-time.ts';
import { MemoryServers } from './memory-engine.ts';

export const body = (id: string): Uint8Array =>
  Buffer.from(JSON.stringify({ request_id: id, data: { items: [{ id: '100', old: 1, new: 2 }] } }));

export class Machines {
  readonly time = new VirtualTime(T0);
  readonly #globals = installGlobals(this.time, 1);
  readonly servers = new MemoryServers();

  constructor() {
    onTestFinished(() => this.#globals.restore());
  }

  async pass(ms: number): Promise<void> {
    await this.time.runUntil(this.time.nowMs + ms);
  }

  host(role: Role): Host {
    return new Host(this, role);
  }
}

export type Role = 'receiver' | 'mirror' | 'both';

/** How the public port of a host is opened: by the host, or passed by systemd, which keeps it open meanwhile. */
type Port = 'own' | 'passed';

const INODE = 7;

type Fetch = (request: Request, bindings: unknown) => Response | Promise<Response>;

interface Posted {
  readonly secret?: string;
  /** By `stock-mirror send`. */
  readonly isTest?: boolean;
}

export class Host {
  readonly #machines: Machines;
  readonly #role: Role;
  #path = newPath();
  #inbox: InboxWriter | null = null;
  #receiver: Receiver | null = null;
  #stream: Stream | null = null;
  #life = newLife();
  /** Takes the place of its engine's functions. */
  broken: Partial<Engine> = {};
  /** The servers do not take its messages. */
  refuses: (subject: string, body: Uint8Array) => boolean = () => false;
  /** Whether a connection is made. */
  connecting = (): boolean => true;
  isDiskFull = false;
  /** No message reaches the servers or comes from them. */
  isCut = false;
  /** How far its wall clock is ahead of the true time. */
  offsetMs = 0;
  /** The webhook secret, from the next start on. */
  secret = 'secret';
  #fetch: Fetch | null = null;

  constructor(machines: Machines, role: Role) {
    this.#machines = machines;
    this.#role = role;
    onTestFinished(() => this.kill());
  }

  async start(port: Port = 'own'): Promise<void> {
    this.#life = newLife();
    const offsetMs = (): number => this.offsetMs;
    const host = {
      life: this.#life,
      get wallOffsetMs() {
        return offsetMs();
      },
    };
    await HOSTS.run(host, () => this.#start(port));
  }

  async #start(port: Port): Promise<void> {
    const life = this.#life;
    const inbox = openInboxWriter(this.#path);
    this.#inbox = inbox;
    const append = inbox.append.bind(inbox);
    inbox.append = (rows) => {
      if (this.isDiskFull || !life.alive) throw new Error('the disk takes nothing');
      append(rows);
    };
    const receiver = new Receiver(
      {
        inbox,
        host: {
          wallMs: Date.now,
          sinceBootMs: () => this.#machines.time.nowMs - T0 + 60_000,
          monotonicMs: () => this.#machines.time.nowMs - T0,
          bootId: 'boot',
        },
        log: pino({ level: 'silent' }),
        later: setImmediate,
        onCommit: () => undefined,
        onTrouble: () => undefined,
        onDeath: () => undefined,
      },
      true,
    );
    this.#receiver = receiver;
    const stream = new Stream({
      host: receiver,
      connect: () => this.#connect(life),
      isConsumed: this.#role !== 'receiver',
      log: pino({ level: 'silent' }),
    });
    this.#stream = stream;
    receiver.share(stream);
    await receiver.start(
      this.#role === 'mirror'
        ? null
        : {
            host: '127.0.0.1',
            port: 0,
            passed: port === 'own' ? null : { fd: 3, inode: INODE, wasQueueFull: false },
            secrets: [this.secret],
            listen: (app) => {
              this.#fetch = app.fetch as Fetch;
              return Promise.resolve({
                host: '',
                port: 0,
                isQueueFull: () => false,
                stop: () => Promise.resolve(),
              });
            },
          },
    );
    stream.start(receiver.webhook !== null);
  }

  #connect(life: Life): Promise<Engine> {
    if (!this.connecting()) return Promise.reject(new Error('no server is reached'));
    const { time, servers } = this.#machines;
    const engine = servers.connect(async () => {
      // A dead process sends nothing more.
      if (!life.alive) await new Promise(() => undefined);
      if (time.nowMs < life.standsStillUntilMs) await time.sleep(life.standsStillUntilMs - time.nowMs);
      if (this.isCut) throw new Error('cut off');
    });
    const publish: Engine['publish'] = (subject, sent, options) =>
      this.refuses(subject, sent)
        ? Promise.reject(new Error('not taken'))
        : engine.publish(subject, sent, options);
    const hear: Engine['hear'] = (listener) => engine.hear(AsyncLocalStorage.bind(listener));
    return Promise.resolve({ ...engine, publish, hear, ...this.broken });
  }

  async receive(...ids: string[]): Promise<void> {
    const receiver = present(this.#receiver);
    await Promise.all(ids.map((id) => receiver.append([{ kind: 'delivery', body: body(id) }], null)));
  }

  /** A webhook reaches the public port. @returns the answer's status. */
  async post(id: string, { secret = this.secret, isTest = false }: Posted = {}): Promise<number> {
    const sent = body(id);
    const headers = new Headers({ 'x-service-signature': signBody(secret, sent) });
    if (isTest) headers.set(TEST_HEADER, '1');
    const request = new Request('http://127.0.0.1/webhooks', { method: 'POST', headers });
    const { status } = await present(this.#fetch)(request, { incoming: incomingOf(request, sent) });
    return status;
  }

  /** @returns the status with which a balancer is told whether to send webhooks here. */
  async health(): Promise<number> {
    const request = new Request('http://127.0.0.1/healthz');
    const { status } = await present(this.#fetch)(request, {
      incoming: incomingOf(request, new Uint8Array()),
    });
    return status;
  }

  /** kill -9 */
  kill(): void {
    this.#life.end();
    this.#inbox?.close();
    this.#inbox = null;
  }

  /** kill -9, and the loss of its disk. */
  lose(): void {
    this.kill();
    this.#path = newPath();
  }

  /** Call it while the host is stopped. @returns puts the disk back as it is now. */
  copyDisk(): () => void {
    const path = inboxPath(this.#path);
    const copy = readFileSync(path);
    return () => writeFileSync(path, copy);
  }

  /** In order. */
  async stop(): Promise<void> {
    await this.#receiver?.stop();
    this.#inbox?.close();
    this.#life.end();
    this.#inbox = null;
  }

  /** SIGSTOP, and SIGCONT after that time. */
  standStill(ms: number): void {
    this.#life.standsStillUntilMs = this.#machines.time.nowMs + ms;
  }

  get report(): StreamReport {
    return present(this.#stream).report();
  }

  /** Deliveries of all receivers are here, except those of the last seconds. */
  get isCurrent(): boolean {
    const { hasCaughtUp, silentSinceMs, backlogSinceMs } = this.report;
    return hasCaughtUp && silentSinceMs === null && backlogSinceMs === null;
  }

  /** Request ids of the deliveries. */
  get ids(): string[] {
    return this.#rows('delivery').map(
      (row) => (JSON.parse(row.toString()) as { request_id: string }).request_id,
    );
  }

  get missed(): Missed[] {
    return this.#rows('missed').map((row) => readMissed(row, 0));
  }

  /** The reasons of the rows about what may have been missed. */
  get whys(): string[] {
    return this.missed.map(({ why }) => why);
  }

  #rows(kind: string): Buffer[] {
    const db = openInboxReader(this.#path);
    try {
      return db
        .prepare<[string], Buffer>('SELECT body FROM inbox WHERE kind = ? ORDER BY seq')
        .pluck()
        .all(kind);
    } finally {
      db.close();
    }
  }
}
