import type { Clock } from '../world/clock.ts';
import { ApiError } from '../shared/errors.ts';
import type { Range } from './network.ts';
import type { Random } from '../world/random.ts';

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An interceptor's decision: an answer, a cut connection, or nothing to leave it to the faults. */
type Intercepted = Answer | 'reset' | undefined;

type Intercept = (
  endpoint: string,
  body: Readonly<Record<string, unknown>>,
  /** Samples the real answer at each call. A request that creates something is carried out by each call. */
  respond: () => Answer,
) => Promise<Intercepted>;

interface Asked {
  readonly endpoint: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Answers from the truth of that time. */
  readonly sample: (ageMs: number) => Answer;
}

/** The way of every request to its answer, with its faults. */
export class Reads {
  /** The wait before the truth is read. */
  latencyMs: Range = { min: 0, max: 0 };
  /** The answer is sampled on arrival and delivered `ms` later. */
  slow = { probability: 0, ms: 0 };
  /** The answer shows the truth of `ageMs` ago (at most 5 s), like a lagging replica. Details only. */
  stale = { probability: 0, ageMs: 2_000 };
  /** The probability of each failure, per read. */
  fail = {
    serverError: 0,
    slowDown: 0,
    invalidToken: 0,
    reset: 0,
    /** Carries out the request, then cuts the connection instead of answering: an order may exist nevertheless. */
    lostAnswer: 0,
    retryAfterS: 1,
  };
  intercept: Intercept | null = null;
  readonly #random: Random;
  readonly #clock: Clock;

  constructor({ random, clock }: { readonly random: Random; readonly clock: Clock }) {
    this.#random = random;
    this.#clock = clock;
  }

  /** Passes a request through the faults. */
  async serve({ endpoint, body, sample }: Asked): Promise<Answer | 'reset'> {
    const random = this.#random;
    const intercepted = await this.intercept?.(endpoint, body, () => sample(0));
    if (intercepted !== undefined) return intercepted;

    const { min, max } = this.latencyMs;
    if (max > 0) await this.#sleep(random.int(min, max));

    const { fail } = this;
    if (random.chance(fail.reset)) return 'reset';
    if (random.chance(fail.serverError)) throw new ApiError(500, 'server_error', 'a simulated failure');
    if (random.chance(fail.invalidToken)) throw new ApiError(401, 'invalid_token', 'a simulated rejection');
    if (random.chance(fail.slowDown)) {
      const headers = { 'Retry-After': String(fail.retryAfterS) };
      throw new ApiError(429, 'slow_down', 'simulated: too many requests', headers);
    }

    const answer = sample(random.chance(this.stale.probability) ? this.stale.ageMs : 0);
    if (random.chance(this.slow.probability)) await this.#sleep(this.slow.ms);
    return random.chance(this.fail.lostAnswer) ? 'reset' : answer;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(ms, resolve);
    });
  }
}
