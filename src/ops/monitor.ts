/**
 * Everything that watches a running mirror: metrics, alarms. It learns of events through
 * observers, which the composition passes to the other parts; these do not depend on it.
 */
import { Registry } from 'prom-client';
import type { Logger } from '../platform/log.ts';
import type { AnswerTimes } from '../store-api/transport/errors.ts';
import type { InboxCommit } from '../inbox/serve-inbox.ts';
import type { Store } from '../mirror/store.ts';
import { Watchman } from './alarms/watchman.ts';
import { ClockSkew } from './state/clock-skew.ts';
import { createCounting } from './metrics/counting.ts';
import { createStateGauges } from './metrics/state-gauges.ts';
import type { Operator } from './shared/operator.ts';
import type { StateSampler } from './state/state-sampler.ts';
import { NOTHING_HELD } from './alarms/held-words.ts';

interface WatchedMirror {
  readonly store: Pick<Store, 'reader' | 'writer'> & { readonly inbox: { readonly lastSeq: number } };
  readonly sampler: Pick<StateSampler, 'last' | 'onSample'>;
  readonly operator: Pick<Operator, 'blocked' | 'readsUnderWay'>;
  /** The ceiling of reads, `SERVICE_MAX_RPS`. */
  readonly maxRps?: number | undefined;
  readonly now: () => number;
  readonly log: Logger;
  readonly plotted?: Plotted;
}

/** What the plots show of the traffic. */
interface Plotted {
  answered(status: number, tookMs: number): void;
  asked(): void;
}

/** A refused request: the part of the public listener's `Refusal` that is needed here. */
interface WatchedRefusal {
  readonly reason: string;
  readonly status: number;
  readonly tookMs: number;
  readonly seen?: string;
}

interface RequestObserver {
  committed(body: Uint8Array, tookMs: number): void;
  refused(refusal: WatchedRefusal): void;
}

export class Monitor {
  readonly registry = new Registry();
  readonly #counting = createCounting(this.registry);
  readonly #clockSkew = new ClockSkew();

  readonly onCommit = (report: InboxCommit): void => {
    this.#counting.commitSeconds.observe(report.tookMs / 1_000);
    this.#watchman?.committed(report.error);
  };
  #plotted: Plotted | null = null;
  #watchman: Watchman | null = null;

  /** For the public listener. */
  observer(now: () => number): RequestObserver {
    return {
      committed: (_body, tookMs) => {
        const nowMs = now();
        this.#counting.deliveries.inc({ answer: '204', reason: '' });
        this.#counting.answerSeconds.observe(tookMs / 1_000);
        this.#plotted?.answered(204, tookMs);
        this.#watchman?.delivered(nowMs);
      },
      refused: ({ reason, status, tookMs, seen }) => {
        const nowMs = now();
        this.#counting.deliveries.inc({ answer: String(status), reason });
        this.#plotted?.answered(status, tookMs);
        if (reason === 'wrong_signature') this.#watchman?.wronglySigned(nowMs);
        if (reason === 'no_room') this.#watchman?.turnedAway(nowMs);
        if (reason === 'wrong_address' || reason === 'wrong_protocol') {
          this.#watchman?.misdirected({ reason, seen: seen ?? '', atMs: nowMs });
        }
        if (reason !== 'not_stored') return;
        this.#counting.answerSeconds.observe(tookMs / 1_000);
        this.#watchman?.delivered(nowMs);
      },
    };
  }

  /** A request to the store has ended. @param status null: without a complete answer. */
  readonly onAnswer = (endpoint: string, status: number | null, times: AnswerTimes | null = null): void => {
    if (times !== null) this.#clockSkew.note(times);
    this.#counting.requests.inc({ endpoint, status: status?.toString() ?? 'none' });
    this.#plotted?.asked();
  };

  /** To be called once. */
  watch({ store, sampler, operator, maxRps, now, log, plotted }: WatchedMirror): Watch {
    this.#plotted = plotted ?? null;
    const counting = this.#counting;
    const watchman = new Watchman({
      reader: store.reader,
      inbox: store.inbox,
      writer: store.writer,
      now,
      log,
      blocked: () => operator.blocked,
      clockAheadMs: () => this.#clockSkew.aheadMs,
      maxRps: maxRps ?? null,
      figures: () => ({
        lastDeliveryAtMs: sampler.last?.status.last_delivery_at ?? null,
        held: sampler.last?.status ?? NOTHING_HELD,
        parkedReads: sampler.last?.status.parked_reads ?? 0,
        status: sampler.last?.status ?? null,
      }),
    });
    createStateGauges(this.registry, now, () => ({
      sample: sampler.last,
      alarms: watchman.current,
      lastDeliveryAtMs: watchman.lastDeliveryAtMs,
      condition: watchman.condition,
    }));
    this.#watchman = watchman;
    const stopListening = store.writer.onApplied(({ reports }) => {
      for (const { facts } of reports) for (const fact of facts) counting.countFact(fact, now());
    });
    return {
      alarms: watchman,
      stoodStill: () => watchman.stoodStill(),
      start(): void {
        watchman.start().catch((error: unknown) => {
          log.warn(
            { err: error },
            'cannot read from the event log how often deliveries came: the silence alarm learns it from now on',
          );
        });
      },
      stop(): void {
        stopListening();
        watchman.stop();
      },
    };
  }
}

export interface Watch {
  readonly alarms: Watchman;
  /** The mirror was not listening for a while, up to now. */
  stoodStill(): void;
  start(): void;
  stop(): void;
}
