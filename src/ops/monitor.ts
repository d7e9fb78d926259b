import { Registry } from 'prom-client';
import type { Logger } from '../platform/log.ts';
import type { AnswerTimes } from '../store-api/transport/errors.ts';
import { storeAheadMs } from '../store-api/transport/http-date.ts';
import type { ReceiverRow } from '../inbox/inbox-file.ts';
import { reportOf } from '../inbox/inbox-view.ts';
import {
  ANSWER_BOUNDS_SECONDS,
  COMMIT_BOUNDS_SECONDS,
  reportedSince,
  type ReceiverReport,
  type ReportedSince,
} from '../inbox/report.ts';
import type { MirrorReader, MirrorWriter } from '../mirror/mirror.ts';
import type { PlainError } from '../sqlite/errors.ts';
import { createCounting } from './metrics/counting.ts';
import { registerDurations } from './metrics/durations.ts';
import { createStateGauges, createStreamGauges } from './metrics/state-gauges.ts';
import type { Operator } from './shared/operator.ts';
import type { Verdict } from './state/state.ts';
import type { StateSampler } from './state/state-sampler.ts';
import { StateWatch } from './state/state-watch.ts';
import type { Timeline } from './state/timeline.ts';

interface WatchedMirror {
  /** null on a host that only receives. */
  readonly mirror: (MirrorReader & MirrorWriter) | null;
  readonly sampler: Pick<StateSampler, 'last'> | null;
  readonly operator: Pick<Operator, 'blocked' | 'verificationBound'> | null;
  readonly hasStream: boolean;
  readonly now: () => number;
  readonly log: Logger;
  readonly plotted?: Plotted;
  readonly isReady?: () => boolean;
  /** Called once a second with what every face shows. */
  readonly observed?: ((verdict: Verdict) => void) | undefined;
}

type Plotted = Pick<Timeline, 'answered' | 'asked'>;

/** Facts of the receiver, the store's answers and the rules, as metrics, plots and causes. */
export class Monitor {
  readonly registry = new Registry();
  readonly #counting = createCounting(this.registry);
  readonly #clockSkew = new ClockSkew();
  #report: ReceiverReport | null = null;
  #plotted: Plotted | null = null;
  #state: StateWatch | null = null;
  readonly #runsReceiver: boolean;

  /** @param runsReceiver this process runs the receiver, so that all of its answers are of this run. */
  constructor({ runsReceiver = true } = {}) {
    this.#runsReceiver = runsReceiver;
    registerDurations(this.registry, {
      name: 'stock_mirror_webhook_answer_seconds',
      help: 'Time from an authentic delivery to its answer, 204 or 503.',
      boundsSeconds: ANSWER_BOUNDS_SECONDS,
      durations: () => this.#report?.answers ?? null,
    });
    registerDurations(this.registry, {
      name: 'stock_mirror_commit_seconds',
      help: 'Duration of a commit to the inbox, fsync included.',
      boundsSeconds: COMMIT_BOUNDS_SECONDS,
      durations: () => this.#report?.commits ?? null,
    });
  }

  /** Positive: this machine's wall clock is ahead of the store's. null while no answers have shown it. */
  readonly clockAheadMs = (): number | null => this.#clockSkew.aheadMs;

  /**
   * Takes over the receiver's last heartbeat; call it each second. @param row null while it cannot be read.
   * @returns what is new in its report; null without one.
   */
  receive(row: ReceiverRow | null): ReportedSince | null {
    const next = reportOf(row);
    const news = next === null ? null : this.#count(next);
    this.#state?.received(row, next);
    return news;
  }

  #count(next: ReceiverReport): ReportedSince {
    const counted = reportedSince(this.#report, next);
    // The counters are those of the receiver's process, whose answers of earlier hours are no news of this one.
    const isOfEarlier = this.#report === null && !this.#runsReceiver;
    const news = isOfEarlier ? reportedSince(next, next) : counted;
    this.#report = next;
    this.#counting.deliveries.inc({ answer: '204', reason: '' }, counted.accepted);
    for (const { reason, status, count } of counted.refused) {
      this.#counting.deliveries.inc({ answer: String(status), reason }, count);
    }
    this.#plotted?.answered({
      deliveries: news.arrived,
      refused: news.refused.reduce((sum, { count }) => sum + count, 0),
      slowestMs: next.slowestMs,
    });
    return news;
  }

  /** The receiver of this process cannot commit; null once it can. */
  troubled(error: PlainError | null): void {
    this.#state?.troubled(error);
  }

  /** @param status null: no complete answer. */
  readonly onAnswer = (endpoint: string, status: number | null, times: AnswerTimes | null = null): void => {
    if (times !== null) this.#clockSkew.note(times);
    this.#counting.requests.inc({ endpoint, status: status?.toString() ?? 'none' });
    this.#plotted?.asked();
  };

  watch({
    mirror,
    sampler,
    operator,
    hasStream,
    now,
    log,
    plotted,
    isReady = () => true,
    observed = () => undefined,
  }: WatchedMirror): StateWatch {
    this.#plotted = plotted ?? null;
    const state = new StateWatch({
      reader: mirror,
      writer: mirror,
      now,
      log,
      blocked: () => operator?.blocked ?? null,
      verification: () => operator?.verificationBound ?? null,
      clockAheadMs: this.clockAheadMs,
      status: () => sampler?.last?.status ?? null,
      isReady,
      observed,
    });
    createStateGauges(this.registry, now, () => ({
      sample: sampler?.last ?? null,
      lastAcceptedAtMs: state.lastAcceptedAtMs,
      mirror: () => state.shown(),
    }));
    if (hasStream) createStreamGauges(this.registry, now, () => this.#report?.stream ?? null);
    mirror?.onApplied(({ reports }) => {
      for (const { facts } of reports) for (const fact of facts) this.#counting.countFact(fact, now());
    });
    this.#state = state;
    return state;
  }
}

const ANSWERS_COMPARED = 3;

/** Compares this machine's clock with the store's by the latest answers. A single one may come from a cache. */
export class ClockSkew {
  readonly #latest: number[] = [];

  note(times: AnswerTimes): void {
    const aheadMs = storeAheadMs(times);
    if (aheadMs === null) return;
    this.#latest.push(-aheadMs);
    if (this.#latest.length > ANSWERS_COMPARED) this.#latest.shift();
  }

  /**
   * Least difference; positive: this machine is ahead; 0 if an answer shows that they may agree. null if the answers are
   * too few, or some say ahead and some behind.
   */
  get aheadMs(): number | null {
    if (this.#latest.length < ANSWERS_COMPARED) return null;
    const least = Math.min(...this.#latest);
    const most = Math.max(...this.#latest);
    if (this.#latest.some((each) => each === 0)) return 0;
    if (least < 0 && most > 0) return null;
    return least > 0 ? least : most;
  }
}
