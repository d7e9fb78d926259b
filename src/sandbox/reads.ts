import type { Timers } from './clock.ts';
import { ApiError } from './errors.ts';
import type { Range } from './network.ts';
import type { Random } from './random.ts';

export type Answer = {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
};

/** An interceptor's decision: an answer, a cut connection, or nothing to leave it to the faults. */
export type Intercepted = Answer | 'reset' | undefined;

export type ReadHold = {
  /** Resolves when a read has been caught and its answer sampled. */
  readonly sampled: Promise<void>;
  /** Delivers the sampled answer; if no read was caught yet, lets the next one pass. */
  release(): void;
};

export type ReadFaults = {
  /** The wait before the truth is read. */
  latencyMs: Range;
  /** The answer is sampled on arrival and delivered `ms` later. */
  slow: { probability: number; ms: number };
  /** The answer shows the truth of `ageMs` ago (at most 5 s), like a lagging replica. Details only. */
  stale: { probability: number; ageMs: number };
  /** The probability of each failure, per read. */
  fail: {
    serverError: number;
    slowDown: number;
    invalidToken: number;
    reset: number;
    /** Carries out the request, then cuts the connection instead of answering: an order may exist nevertheless. */
    lostAnswer: number;
    retryAfterS: number;
  };
};

export type Reads = ReadFaults & {
  /**
   * `respond()` samples the real answer at each call. A request that creates something is carried out by each call.
   */
  intercept:
    | ((
        endpoint: string,
        body: Readonly<Record<string, unknown>>,
        respond: () => Answer,
      ) => Promise<Intercepted>)
    | null;
  /** Catches the next detail of the product, or the next read of any kind. */
  holdNext(productId?: string): ReadHold;
};

export type ReadPath = Reads & {
  /** Passes a read through the faults. `sample(ageMs)` answers from the truth of that time. */
  serve(
    endpoint: string,
    body: Record<string, unknown>,
    sample: (ageMs: number) => Answer,
  ): Promise<Answer | 'reset'>;
  /** Releases everything held or delayed. */
  stop(): void;
};

type Waiter = { productId: string | undefined; caught: () => void; released: Promise<void> };

export function createReadPath(deps: { random: Random; timers: Timers }): ReadPath {
  const { random, timers } = deps;
  const waiters: Waiter[] = [];
  const releases = new Set<() => void>();

  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        timers.clearTimeout(timer);
        releases.delete(done);
        resolve();
      };
      const timer = timers.setTimeout(done, ms);
      releases.add(done);
    });

  const failure = (): ApiError | 'reset' | undefined => {
    const { fail } = reads;
    if (random.chance(fail.reset)) return 'reset';
    if (random.chance(fail.serverError)) return new ApiError(500, 'server_error', 'a simulated failure');
    if (random.chance(fail.invalidToken)) return new ApiError(401, 'invalid_token', 'a simulated rejection');
    if (random.chance(fail.slowDown)) {
      return new ApiError(429, 'slow_down', 'simulated: too many requests', {
        'Retry-After': String(fail.retryAfterS),
      });
    }
    return undefined;
  };

  const takeWaiter = (body: Record<string, unknown>): Waiter | undefined => {
    const index = waiters.findIndex(
      ({ productId }) => productId === undefined || productId === body['product_id'],
    );
    return index === -1 ? undefined : waiters.splice(index, 1)[0];
  };

  const reads: ReadPath = {
    latencyMs: { min: 0, max: 0 },
    slow: { probability: 0, ms: 0 },
    stale: { probability: 0, ageMs: 2_000 },
    fail: { serverError: 0, slowDown: 0, invalidToken: 0, reset: 0, lostAnswer: 0, retryAfterS: 1 },
    intercept: null,

    holdNext: (productId) => {
      const caught = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      const waiter: Waiter = { productId, caught: caught.resolve, released: released.promise };
      waiters.push(waiter);
      const release = (): void => {
        const index = waiters.indexOf(waiter);
        if (index !== -1) waiters.splice(index, 1);
        releases.delete(release);
        released.resolve();
      };
      releases.add(release);
      return { sampled: caught.promise, release };
    },

    serve: async (endpoint, body, sample) => {
      const intercepted = await reads.intercept?.(endpoint, body, () => sample(0));
      if (intercepted !== undefined) return intercepted;

      const { min, max } = reads.latencyMs;
      if (max > 0) await sleep(random.int(min, max));

      const failed = failure();
      if (failed === 'reset') return 'reset';
      if (failed !== undefined) throw failed;

      const waiter = takeWaiter(body);
      const ageMs = random.chance(reads.stale.probability) ? reads.stale.ageMs : 0;
      const answer = sample(ageMs);
      if (waiter !== undefined) {
        waiter.caught();
        await waiter.released;
      }
      if (random.chance(reads.slow.probability)) await sleep(reads.slow.ms);
      return random.chance(reads.fail.lostAnswer) ? 'reset' : answer;
    },

    stop: () => {
      for (const release of [...releases]) release();
    },
  };
  return reads;
}
