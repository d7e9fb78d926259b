import { Registry } from 'prom-client';
import type { Logger } from '../platform/log.ts';
import type { AnswerTimes } from '../store-api/transport/errors.ts';
import { storeAheadMs } from '../store-api/transport/http-date.ts';
import type { InboxCommit } from '../inbox/serve-inbox.ts';
import type { Store } from '../mirror/store.ts';
import type { Stream } from '../stream/stream.ts';
import { createCounting } from './metrics/counting.ts';
import { createStateGauges, createStreamGauges } from './metrics/state-gauges.ts';
import type { Operator } from './shared/operator.ts';
import type { StateSampler } from './state/state-sampler.ts';
import { StateWatch } from './state/state-watch.ts';

interface WatchedMirror {
  /** `reader` and `writer` null: this host only receives. */
  readonly store: {
    readonly inbox: { readonly lastSeq: number };
    readonly reader: Store['reader'] | null;
    readonly writer: Store['writer'] | null;
  };
  readonly sampler: Pick<StateSampler, 'last'> | null;
  readonly operator: Pick<Operator, 'blocked' | 'verificationBound'> | null;
  readonly stream: Pick<Stream, 'facts' | 'backlog'> | null;
  readonly now: () => number;
  readonly log: Logger;
  readonly plotted?: Plotted;
  readonly isReady?: () => boolean;
}

interface Plotted {
  answered(status: number, tookMs: number): void;
  asked(): void;
}

interface WatchedRefusal {
  readonly reason: string;
  readonly status: number;
  readonly tookMs: number;
  readonly seen?: string;
}

interface RequestObserver {
  committed(tookMs: number): void;
  refused(refusal: WatchedRefusal): void;
}

export class Monitor {
  readonly registry = new Registry();
  readonly #counting = createCounting(this.registry);
  readonly #clockSkew = new ClockSkew();

  readonly onCommit = (report: InboxCommit): void => {
    this.#counting.commitSeconds.observe(report.tookMs / 1_000);
    this.#state?.committed(report.error);
  };
  #plotted: Plotted | null = null;
  #state: StateWatch | null = null;

  observer(now: () => number): RequestObserver {
    return {
      committed: (tookMs) => {
        const nowMs = now();
        this.#counting.deliveries.inc({ answer: '204', reason: '' });
        this.#counting.answerSeconds.observe(tookMs / 1_000);
        this.#plotted?.answered(204, tookMs);
        this.#state?.delivered(nowMs);
      },
      refused: ({ reason, status, tookMs, seen }) => {
        const nowMs = now();
        this.#counting.deliveries.inc({ answer: String(status), reason });
        this.#plotted?.answered(status, tookMs);
        if (reason === 'wrong_signature') this.#state?.wronglySigned(nowMs);
        if (reason === 'no_room') this.#state?.turnedAway(nowMs);
        if (reason === 'wrong_address' || reason === 'wrong_protocol') {
          this.#state?.misdirected({ reason, seen: seen ?? '', atMs: nowMs });
        }
        if (reason !== 'not_stored') return;
        this.#counting.answerSeconds.observe(tookMs / 1_000);
        this.#state?.delivered(nowMs);
      },
    };
  }

  /** @param status null: no complete answer. */
  readonly onAnswer = (endpoint: string, status: number | null, times: AnswerTimes | null = null): void => {
    if (times !== null) this.#clockSkew.note(times);
    this.#counting.requests.inc({ endpoint, status: status?.toString() ?? 'none' });
    this.#plotted?.asked();
  };

  watch({ store, sampler, operator, stream, now, log, plotted, isReady = () => true }: WatchedMirror): Watch {
    this.#plotted = plotted ?? null;
    const counting = this.#counting;
    const watch = new StateWatch({
      reader: store.reader,
      inbox: store.inbox,
      writer: store.writer,
      now,
      log,
      blocked: () => operator?.blocked ?? null,
      verification: () => operator?.verificationBound ?? null,
      clockAheadMs: () => this.#clockSkew.aheadMs,
      status: () => sampler?.last?.status ?? null,
      isReady,
      stream: stream === null ? null : () => stream.facts(),
    });
    createStateGauges(this.registry, now, () => ({
      sample: sampler?.last ?? null,
      lastDeliveryAtMs: watch.lastDeliveryAtMs,
      mirror: watch.current,
    }));
    if (stream !== null) createStreamGauges(this.registry, now, stream);
    this.#state = watch;
    const stopListening = store.writer?.onApplied(({ reports }) => {
      for (const { facts } of reports) for (const fact of facts) counting.countFact(fact, now());
    });
    return {
      state: watch,
      stoodStill: () => watch.stoodStill(),
      start(): void {
        watch.start().catch((error: unknown) => {
          log.warn(
            { err: error },
            'cannot read the deliveries of earlier days: the cause `silence` compares only with later ones',
          );
        });
      },
      stop(): void {
        stopListening?.();
        watch.stop();
      },
    };
  }
}

export interface Watch {
  readonly state: StateWatch;
  stoodStill(): void;
  start(): void;
  stop(): void;
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

  /** Least difference; positive: this machine is ahead. null if the answers are too few or disagree. */
  get aheadMs(): number | null {
    if (this.#latest.length < ANSWERS_COMPARED) return null;
    const [first = 0] = this.#latest;
    if (!this.#latest.every((each) => Math.sign(each) === Math.sign(first))) return null;
    return Math.sign(first) * Math.min(...this.#latest.map(Math.abs));
  }
}
