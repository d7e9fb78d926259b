/** The store's side of a measurement, as the bench speaks to it. */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Distribution } from './distribution.ts';
import type { Environment } from './child.ts';
import type { Known } from './equality.ts';

export interface Requests {
  /** Serves a catalogue; later calls change its latency alone. */
  serve: { readonly products: number; readonly latencyMs: number };
  /** Changes this many stock levels, spread over all, without sending webhooks. */
  change: { readonly levels: number };
  /** One product gets this many levels more, each with another figure at each read. */
  grow: { readonly variants: number; readonly warehouses: number };
  /** How many levels of a mirror differ from the truth. */
  compare: { readonly databasePath: string; readonly known: Known };
  /** Deliveries are about a filled database, which no store knows. */
  fill: { readonly levels: number };
  /** Makes the next deliveries. */
  prepare: {
    readonly count: number;
    readonly secret: string;
    readonly startMs: number;
    readonly everyMs: number;
  };
  /** Sends the prepared ones. */
  send: {
    readonly url: string;
    readonly connections: number;
    /** Null: as fast as they are answered. */
    readonly perSecond: number | null;
    /** What is sent is true from then on: reads tell it. Not when it is sent for another's sake. */
    readonly isTrue: boolean;
    /** A mirror's file in which the changes are looked for as they come. */
    readonly watch?: string;
  };
}

export interface Service {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecret: string;
  readonly products: number;
  /** Those that deliveries can be about. */
  readonly levels: number;
}

export interface Answers {
  serve: Service;
  change: null;
  grow: { readonly productId: string };
  compare: { readonly different: number };
  fill: null;
  prepare: null;
  send: {
    readonly tookMs: number;
    /** Answered 503. */
    readonly refused: number;
    readonly answers: Distribution;
    /** From when each was due until its changes could be read in the file. */
    readonly visible: Distribution | null;
  };
}

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

export class Upstream {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;

  constructor() {
    this.#process = fork(join(import.meta.dirname, 'programs/upstream-process.ts'), {
      serialization: 'advanced',
    });
    this.#process.on('message', (message: { id: number; value: never; error?: string }) => {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error === undefined) waiting?.resolve(message.value);
      else waiting?.reject(new Error(message.error));
    });
    this.#process.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the store's side ended"));
    });
  }

  ask<Name extends keyof Requests>(name: Name, args: Requests[Name]): Promise<Answers[Name]> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#process.send({ id, name, args });
    });
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await ended;
  }
}

/** The settings that a mirror of this store gets. */
export function environmentOf(
  service: Omit<Service, 'products' | 'levels'>,
  databasePath: string,
): Environment {
  return {
    SERVICE_BASE_URL: service.baseUrl,
    SERVICE_CLIENT_ID: service.clientId,
    SERVICE_CLIENT_SECRET: service.clientSecret,
    SERVICE_WEBHOOK_SECRET: service.webhookSecret,
    SERVICE_MAX_RPS: '10000',
    SERVICE_MAX_CONCURRENCY: '32',
    DATABASE_PATH: databasePath,
    PORT: '0',
    OPS_PORT: '0',
    RECONCILE_CRON: 'off',
    RESYNC_CRON: 'off',
    LOG_LEVEL: 'info',
  };
}
