/** A store, its load, and a mirror that has read the whole catalogue. */
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { proveWayIn } from '../../test/process/harness.ts';
import { newQuantities } from './catalogue.ts';
import type { Prepare, Send, Sent } from './load-thread.ts';
import { MIRROR, Server } from './server.ts';

const SECRET = 'bench-webhook-secret';
const SYNC_WITHIN_MS = 3_600_000;
/** Changes dated this long after a read are later than what it saw. */
const AFTER_READ_MS = 4_000;

export class Stage {
  readonly env: Readonly<Record<string, string>>;
  readonly databasePath: string;
  readonly #folder: string;
  readonly #store: Worker;
  readonly #load: Worker;
  #mirror: Server | null = null;

  private constructor(folder: string, { store, load, url }: { store: Worker; load: Worker; url: string }) {
    this.#folder = folder;
    this.#store = store;
    this.#load = load;
    this.databasePath = join(folder, `mirror-${new URL(url).port}.db`);
    this.env = {
      SERVICE_BASE_URL: url,
      SERVICE_CLIENT_ID: 'bench',
      SERVICE_CLIENT_SECRET: 'bench-client-secret',
      SERVICE_WEBHOOK_SECRET: SECRET,
      SERVICE_MAX_RPS: '10000',
      SERVICE_MAX_CONCURRENCY: '32',
      DATABASE_PATH: this.databasePath,
      PORT: '0',
      OPS_PORT: '0',
      RECONCILE_CRON: 'off',
      RESYNC_CRON: 'off',
    };
  }

  static async open(folder: string, products: number): Promise<Stage> {
    const workerData = newQuantities(products);
    const store = new Worker(new URL('store-thread.ts', import.meta.url), { workerData });
    const [url] = (await once(store, 'message')) as [string];
    const load = new Worker(new URL('load-thread.ts', import.meta.url), { workerData });
    return new Stage(folder, { store, load, url });
  }

  get mirror(): Server {
    if (this.#mirror === null) throw new Error('the mirror is not started');
    return this.#mirror;
  }

  startMirror(env: Readonly<Record<string, string>> = {}): Server {
    return this.startServer(MIRROR, env);
  }

  /** @param script another server may take the mirror's place. */
  startServer(script: string, env: Readonly<Record<string, string>> = {}): Server {
    this.#mirror = new Server(script, { ...this.env, ...env }, this.#folder);
    return this.#mirror;
  }

  /** Starts the mirror and waits until it is live. Deliveries from then on are later than its reads. */
  async startSynced(): Promise<Server> {
    const mirror = this.startMirror();
    await untilLive(mirror, SECRET);
    await sleep(AFTER_READ_MS);
    return mirror;
  }

  /** Signs the deliveries of the next sends. @returns how many changes are in them. */
  async prepare(count: number, { fromMs, toMs }: { fromMs: number; toMs: number }): Promise<number> {
    const order: Prepare = { type: 'prepare', count, secret: SECRET, fromMs, toMs };
    return (await this.#ask<{ readonly changes: number }>(order)).changes;
  }

  send(url: string, how: Omit<Send, 'type' | 'url'>): Promise<Sent> {
    return this.#ask<Sent>({ type: 'send', url, ...how });
  }

  async #ask<T>(order: Prepare | Send): Promise<T> {
    this.#load.postMessage(order);
    const [answer] = (await once(this.#load, 'message')) as [{ value: T; error?: Error }];
    if (answer.error !== undefined) throw answer.error;
    return answer.value;
  }

  async close(): Promise<void> {
    await this.#mirror?.end();
    await Promise.all([this.#store.terminate(), this.#load.terminate()]);
  }
}

export async function untilLive(mirror: Server, secret: string): Promise<void> {
  const { ops, webhooks } = await mirror.listening();
  await proveWayIn(webhooks, secret);
  const deadlineMs = performance.now() + SYNC_WITHIN_MS;
  for (;;) {
    const status = (await (await fetch(`${ops}api/status`)).json()) as { state: string };
    if (status.state === 'live') return;
    if (performance.now() > deadlineMs) throw new Error(`the mirror is still ${status.state}`);
    await sleep(200);
  }
}
