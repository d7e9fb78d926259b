/** Replaces the platform's clock and timers by virtual time, and its random bytes by those of the story. */
import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { createRandom } from '../../src/sandbox/world/random.ts';
import { newLife, type Life, type Scheduled, type VirtualTime } from './virtual-time.ts';

export interface Host {
  readonly life: Life;
  readonly wallOffsetMs: number;
}

export interface GlobalTime extends Host {
  life: Life;
  wallOffsetMs: number;
  /** True time of the last boot. */
  bootedAtMs: number;
  readonly wallNowMs: () => number;
  restore(): void;
}

interface Timer extends Scheduled {
  unref(): Timer;
  ref(): Timer;
  hasRef(): boolean;
}

/** Uptime of the machine at the start of a story. */
const UP_BEFORE_MS = 3_600_000;

/** The host on which the running code runs, where there are several. */
export const HOSTS = new AsyncLocalStorage<Host>();

export function installGlobals(time: VirtualTime, seed: number): GlobalTime {
  const host = (): Host => HOSTS.getStore() ?? installed;
  const real = {
    Date: globalThis.Date,
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    setInterval: globalThis.setInterval,
    clearInterval: globalThis.clearInterval,
    now: performance.now.bind(performance),
  };
  const realSleep = timersPromises.setTimeout;
  const realBytes = crypto.randomBytes;
  const startMs = time.nowMs;
  const installed: GlobalTime = {
    life: newLife(),
    wallOffsetMs: 0,
    bootedAtMs: startMs - UP_BEFORE_MS,
    wallNowMs: () => Math.round(time.nowMs + host().wallOffsetMs),
    restore: () => {
      const { now, ...globals } = real;
      Object.assign(globalThis, globals);
      timersPromises.setTimeout = realSleep;
      crypto.randomBytes = realBytes;
      syncBuiltinESMExports();
      performance.now = now;
    },
  };

  class VirtualDate extends real.Date {
    constructor(...args: [] | [value: number | string | Date]) {
      if (args.length === 0) super(installed.wallNowMs());
      else super(...args);
    }
    static override now(): number {
      return installed.wallNowMs();
    }
  }
  const handle = (): Timer => {
    const timer: Timer = { cancelled: false, unref: () => timer, ref: () => timer, hasRef: () => true };
    return timer;
  };
  const set = (timer: Timer, ms: number, action: () => void, times: 'once' | 'again and again'): void => {
    const { life } = host();
    time.after(Math.max(1, ms), life, () => {
      if (timer.cancelled) return;
      if (times !== 'once') set(timer, ms, action, times);
      action();
    });
  };
  const start =
    (times: 'once' | 'again and again') =>
    (action: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Timer => {
      const timer = handle();
      set(timer, ms, () => action(...args), times);
      return timer;
    };
  const stop = (timer?: Timer): void => {
    if (timer !== undefined && timer !== null) timer.cancelled = true;
  };
  Object.assign(globalThis, {
    Date: VirtualDate,
    setTimeout: start('once'),
    setInterval: start('again and again'),
    clearTimeout: stop,
    clearInterval: stop,
  });
  timersPromises.setTimeout = async <T>(
    ms?: number,
    value?: T,
    options?: { signal?: AbortSignal | undefined },
  ) => {
    const { signal } = options ?? {};
    const slept = Promise.withResolvers<void>();
    const abort = (): void => slept.reject(new DOMException('The operation was aborted', 'AbortError'));
    const timer = start('once')(() => slept.resolve(), ms);
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort);
    await slept.promise.finally(() => {
      stop(timer);
      signal?.removeEventListener('abort', abort);
    });
    return value as T;
  };
  const random = createRandom(seed, 'bytes');
  crypto.randomBytes = (size: number) => Buffer.from(Array.from({ length: size }, () => random.int(0, 255)));
  syncBuiltinESMExports();
  performance.now = () => time.nowMs - startMs;
  return installed;
}
