/** Samples the state and trust that readers of the mirror's file see while a step runs. */
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { compareWithTruth, missedVariants } from '../../src/cli/demo/compare.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';

const SAMPLE_EVERY_MS = 100;
const REST_WITHIN_MS = 90_000;

export interface Seen {
  readonly notLiveMs: number;
  /** Quantities of `mirror_sellable` with `trusted` = 0, the most at one time: under load alone, and in all. */
  readonly usuallyUntrusted: number;
  readonly mostUntrusted: number;
  /** For how long there were more than under load alone. */
  readonly untrustedMs: number;
}

interface Status {
  readonly state: string;
  readonly pending_reads: number;
  readonly last_seq: number;
  readonly untrusted: number;
}

export function statusOf(path: string): Status {
  const db = new Database(path, { readonly: true, timeout: 2_000 });
  try {
    const row = db
      .prepare<[], Status>(
        `SELECT state, pending_reads, last_seq,
          (SELECT count(*) FROM mirror_sellable WHERE trusted = 0) AS untrusted
        FROM mirror_status`,
      )
      .get();
    if (row === undefined) throw new Error(`${path} has no status`);
    return row;
  } finally {
    db.close();
  }
}

export class Sampler {
  readonly #timer: NodeJS.Timeout;
  #path: string;
  #lastMs = performance.now();
  #usual: number | null = null;
  #notLiveMs = 0;
  #untrustedMs = 0;
  #mostUntrusted = 0;

  constructor(path: string) {
    this.#path = path;
    this.#timer = setInterval(() => this.#sample(), SAMPLE_EVERY_MS);
  }

  /** Call it when the fault begins: the most untrusted rows seen until then are the usual number under this load. */
  loaded(): void {
    this.#usual = this.#mostUntrusted;
  }

  /** Readers have moved to the mirror of another host. */
  moved(path: string): void {
    this.#path = path;
    this.#lastMs = performance.now();
  }

  end(): Seen {
    clearInterval(this.#timer);
    return {
      notLiveMs: Math.round(this.#notLiveMs),
      usuallyUntrusted: this.#usual ?? this.#mostUntrusted,
      mostUntrusted: this.#mostUntrusted,
      untrustedMs: Math.round(this.#untrustedMs),
    };
  }

  #sample(): void {
    const nowMs = performance.now();
    const { state, untrusted } = statusOf(this.#path);
    if (state !== 'live') this.#notLiveMs += nowMs - this.#lastMs;
    if (this.#usual !== null && untrusted > this.#usual) this.#untrustedMs += nowMs - this.#lastMs;
    this.#mostUntrusted = Math.max(this.#mostUntrusted, untrusted);
    this.#lastMs = nowMs;
  }
}

/** Ends the traffic. @returns differences from the store, once the mirror claims that there are none. */
export async function untilEqual(sandbox: Sandbox, path: string): Promise<readonly string[]> {
  sandbox.traffic.stop();
  await sandbox.network.idle();
  const deadlineMs = performance.now() + REST_WITHIN_MS;
  for (;;) {
    const { state, untrusted, pending_reads: pending } = statusOf(path);
    if (state === 'live' && untrusted === 0 && pending === 0) break;
    if (performance.now() > deadlineMs) {
      const what = `${untrusted} quantities are not trusted, ${pending} reads are pending`;
      return [`${path} is ${state} after ${REST_WITHIN_MS} ms: ${what}`];
    }
    await sleep(SAMPLE_EVERY_MS);
  }
  // Left out: levels of pulled products, which only webhooks report, where one was not answered.
  return compareWithTruth(path, sandbox.truth, missedVariants(sandbox.deliveries)).differences;
}
