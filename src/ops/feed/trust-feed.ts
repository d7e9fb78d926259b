/** The trust of all rows, computed at most once a second for all consumers (docs/http-api.md#trust). */
import type { MirrorReader } from '../../mirror/mirror.ts';
import { MOST_LISTED } from '../../mirror/file/suspicion.ts';
import type { TrustReport } from '../../mirror/queries/trust.ts';
import type { StateSource } from '../state/state-sampler.ts';

export interface Trust extends Omit<TrustReport, 'isDistrusted'> {
  readonly as_of: number;
  /** Beyond the number that is listed: the number of stock levels concerned, of the last sample. */
  readonly untrusted_count: number;
}

interface TrustFeedDeps {
  readonly reader: MirrorReader;
  readonly state: Pick<StateSource, 'last'>;
  readonly now: () => number;
}

export const TRUST_EVERY_MS = 1_000;

export class TrustFeed {
  readonly #deps: TrustFeedDeps;
  #latest: { readonly computedMs: number; readonly trust: Promise<Trust> } | null = null;

  constructor(deps: TrustFeedDeps) {
    this.#deps = deps;
  }

  /** At most a second old. @throws SqliteFault */
  now(): Promise<Trust> {
    const nowMs = performance.now();
    if (this.#latest !== null && nowMs - this.#latest.computedMs < TRUST_EVERY_MS) return this.#latest.trust;
    const trust = this.#compute();
    const latest = { computedMs: nowMs, trust };
    this.#latest = latest;
    trust.catch(() => {
      if (this.#latest === latest) this.#latest = null;
    });
    return trust;
  }

  async #compute(): Promise<Trust> {
    const { reader, state, now } = this.#deps;
    const asOf = now();
    const report = await reader.ask('trust');
    return {
      state: report.state,
      cause: report.cause,
      as_of: asOf,
      last_seq: report.last_seq,
      untrusted: report.untrusted,
      untrusted_count: report.untrusted?.length ?? manyOf(report, state.last?.status ?? null),
    };
  }
}

type Counts = Readonly<Record<'levels' | 'suspect_count', number>>;

function manyOf({ isDistrusted }: TrustReport, counts: Counts | null): number {
  return Math.max(MOST_LISTED + 1, (isDistrusted ? counts?.levels : counts?.suspect_count) ?? 0);
}

/** Changes when a consumer must know of it. */
export function essenceOf({ state, cause, untrusted, untrusted_count: count }: Trust): string {
  return JSON.stringify([state, cause, untrusted, count]);
}
