import type { Clock } from '../world/clock.ts';
import { ApiError } from '../shared/errors.ts';
import type { Range } from './network.ts';
import type { Random } from '../world/random.ts';

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** undefined leaves the request to the faults. */
type Intercepted = Answer | 'reset' | undefined;

type Intercept = (
  endpoint: string,
  body: Readonly<Record<string, unknown>>,
  respond: () => Answer,
) => Promise<Intercepted>;

interface ApiRequest {
  readonly endpoint: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly sample: (ageMs: number) => Answer;
}

export class Reads {
  /** Before the answer is sampled. */
  latencyMs: Range = { min: 0, max: 0 };
  /** After the answer is sampled. */
  slow = { probability: 0, ms: 0 };
  /** Product details of `ageMs` ago (at most 5 s), as from a lagging replica. */
  stale = { probability: 0, ageMs: 2_000 };
  fail = {
    serverError: 0,
    slowDown: 0,
    invalidToken: 0,
    reset: 0,
    /** The request is carried out, then the connection is cut. */
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

  async serve({ endpoint, body, sample }: ApiRequest): Promise<Answer | 'reset'> {
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
