/** Hosts of one stream, with real inboxes, on virtual time. */
import { setTimeout as wait } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { InboxClient } from '../../src/inbox/inbox-client.ts';
import { lockAndOpen, serveInbox, type InboxCalls, type InboxCommit } from '../../src/inbox/serve-inbox.ts';
import type { Reply, Request } from '../../src/sqlite/worker.ts';
import { Stream } from '../../src/stream/stream.ts';
import type { Engine } from '../../src/stream/engine.ts';
import type { Notice } from '../../src/stream/notices.ts';
import { fakeThread } from '../mirror/fake-thread.ts';
import { delivery, item, newPath, T0 } from '../mirror/mirror-file.ts';
import { inboxRows } from '../process/harness.ts';
import { log } from '../reconcile/mirror.ts';
import { present } from '../shared/present.ts';
import { installGlobals } from '../simulation/globals.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';
import { MemoryServers } from './memory-engine.ts';

export const body = (id: string): Uint8Array => delivery(id, item({ id }));

export class Machines {
  readonly #time = new VirtualTime(T0);
  readonly #globals = installGlobals(this.#time);
  /** Their clock is far from those of the hosts. */
  readonly servers = new MemoryServers({ now: () => this.#time.nowMs - 3_600_000 });

  constructor() {
    onTestFinished(() => this.#globals.restore());
  }

  async pass(ms: number): Promise<void> {
    await this.#time.runUntil(this.#time.nowMs + ms);
  }

  host(role: 'receiver' | 'mirror' | 'both'): Host {
    return new Host(this, role);
  }
}

export class Host {
  readonly #machines: Machines;
  readonly #role: 'receiver' | 'mirror' | 'both';
  readonly #path = newPath();
  #inbox: InboxClient | null = null;
  #beats: NodeJS.Timeout | undefined;
  stream: Stream | null = null;
  /** Requests to its mirror. */
  readonly notices: (Notice | { readonly lostSinceMs: number })[] = [];
  /** Takes the place of its engine's functions. */
  broken: Partial<Engine> = {};
  /** The servers refuse its messages. */
  refuses: (subject: string, body: Uint8Array) => boolean = () => false;
  /** Whether a connection is made. */
  connecting = (): boolean => true;
  isMirrorBroken = false;
  isDiskFull = false;
  /** How long its disk takes for a delivery from the stream. */
  diskMs = 0;

  constructor(machines: Machines, role: 'receiver' | 'mirror' | 'both') {
    this.#machines = machines;
    this.#role = role;
    onTestFinished(() => this.kill());
  }

  async start({ isInherited = false } = {}): Promise<void> {
    const { thread } = fakeThread<Request<InboxCalls>, Reply<InboxCommit>>((owner) =>
      serveInbox(owner, () => lockAndOpen(this.#path)),
    );
    const inbox = await InboxClient.open(thread, {
      onDeath: () => undefined,
      onCommit: () => this.stream?.arrived(),
    });
    this.#inbox = inbox;
    const { aliveAtMs, missedSinceMs } = inbox.metadata;
    const stream = new Stream({
      connect: () => {
        if (!this.connecting()) return Promise.reject(new Error('no server is reached'));
        const engine = this.#machines.servers.connect();
        const publish: Engine['publish'] = (subject, sent, options) =>
          this.refuses(subject, sent)
            ? Promise.reject(new Error('refused'))
            : engine.publish(subject, sent, options);
        return Promise.resolve({ ...engine, publish, ...this.broken });
      },
      inbox: {
        metadata: inbox.metadata,
        get lastSeq() {
          return inbox.lastSeq;
        },
        unpublished: (afterSeq) => inbox.unpublished(afterSeq),
        append: async (...args) => {
          if (this.isDiskFull) throw new Error('full');
          if (this.diskMs > 0) await wait(this.diskMs);
          return inbox.append(...args);
        },
      },
      mirror:
        this.#role === 'receiver'
          ? null
          : {
              onNotice: (notice) => {
                if (this.isMirrorBroken) return Promise.reject(new Error('the mirror has failed'));
                this.notices.push(notice);
                return Promise.resolve();
              },
              onLost: (lostSinceMs) => void this.notices.push({ lostSinceMs }),
            },
      now: () => Date.now(),
      log,
    });
    this.stream = stream;
    if (this.#role !== 'mirror')
      stream.receive(isInherited ? missedSinceMs : (missedSinceMs ?? aliveAtMs ?? 0));
    stream.start();
    const beat = (): void => {
      const atMs = Date.now();
      const { unsureSinceMs, place } = stream;
      const heartbeat = { atMs, clockMs: atMs, missedSinceMs: unsureSinceMs, changeSeq: 0, stream: place };
      inbox.beat(heartbeat).catch(() => undefined);
    };
    beat();
    this.#beats = setInterval(beat, 1_000);
  }

  async receive(...ids: string[]): Promise<void> {
    await Promise.all(ids.map((id) => present(this.#inbox).append(body(id), Date.now())));
  }

  /** kill -9 */
  async kill(): Promise<void> {
    clearInterval(this.#beats);
    await this.stream?.stop();
    await this.#inbox?.close();
    this.stream = null;
  }

  async restart(options?: { isInherited?: boolean }): Promise<void> {
    await this.kill();
    await this.start(options);
  }

  get ids(): string[] {
    const sql = `SELECT json_extract(CAST(body AS TEXT), '$.request_id') AS id FROM inbox ORDER BY seq`;
    return inboxRows<{ id: string }>(this.#path, sql).map(({ id }) => id);
  }
}
