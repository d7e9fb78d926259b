/**
 * Everything that watches a running mirror: metrics, alarms. It learns of events through
 * observers, which the composition passes to the other parts; these do not depend on it.
 */
import { Gauge, Registry } from 'prom-client';
import packageJson from '../../package.json' with { type: 'json' };
import type { Logger } from '../platform/log.ts';
import type { CatalogueClient } from '../store-api/client.ts';
import { parseDelivery } from '../store-api/delivery.ts';
import { TOKEN_ENDPOINT } from '../store-api/token/token-request.ts';
import type { AnswerTimes } from '../store-api/transport/errors.ts';
import type { InboxCommit } from '../inbox/serve-inbox.ts';
import type { Store } from '../mirror/store.ts';
import { Watchman } from './alarms/watchman.ts';
import { ClockSkew } from './state/clock-skew.ts';
import { countFact } from './metrics/count-fact.ts';
import { createCounting } from './metrics/counting.ts';
import { observedClient } from './metrics/observed-client.ts';
import { createStateGauges } from './metrics/state-gauges.ts';
import { Tallies } from './metrics/tallies.ts';
import type { Operator } from './shared/operator.ts';
import type { RejectedStatus, RejectionReason } from './metrics/counting.ts';
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
  readonly reason: RejectionReason;
  readonly status: RejectedStatus;
  readonly tookMs: number;
  readonly seen?: string;
}

interface RequestObserver {
  committed(body: Uint8Array, tookMs: number): void;
  refused(refusal: WatchedRefusal): void;
}

/** Lateness is measured on a sample, since it requires parsing the body. */
const LAG_EVERY_MS = 50;
const LAG_MAX_BYTES = 16 << 10;

export class Monitor {
  readonly registry = new Registry();
  readonly #counting = createCounting(this.registry);
  readonly #clockSkew = new ClockSkew();
  /** On the monotonic clock. */
  #nextLagMs = 0;

  constructor() {
    new Gauge({
      name: 'stock_mirror_build_info',
      help: 'Always 1; the labels name the versions.',
      labelNames: ['version', 'node_version'],
      registers: [this.registry],
    }).set({ version: packageJson.version, node_version: process.version }, 1);
  }

  readonly onCommit = (report: InboxCommit): void => {
    this.#counting.commitInputs.observe(report.deliveries);
    this.#counting.commitSeconds.observe(report.tookMs / 1_000);
    this.#counting.commits[report.error === null ? 'done' : 'failed'].inc();
    this.#watchman?.committed(report.error);
  };
  #plotted: Plotted | null = null;
  #watchman: Watchman | null = null;

  /** For the public listener. */
  observer(now: () => number): RequestObserver {
    return {
      committed: (body, tookMs) => {
        const nowMs = now();
        this.#counting.deliveries['204'].inc();
        this.#counting.answerSeconds.observe(tookMs / 1_000);
        this.#plotted?.answered(204, tookMs);
        this.#watchman?.delivered(nowMs);
        this.#sampleLag(body, nowMs);
      },
      refused: ({ reason, status, tookMs, seen }) => {
        const nowMs = now();
        this.#counting.deliveries[status].inc();
        this.#counting.rejected[reason].inc();
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
    this.#counting.requests.inc();
    this.#plotted?.asked();
    if (endpoint === TOKEN_ENDPOINT) this.#counting.tokens.inc();
    if (status === 429) this.#counting.pauses.inc();
  };

  observe(client: CatalogueClient): CatalogueClient {
    return observedClient(client, this.#counting);
  }

  /** To be called once. Start the result before any request to the store, so that no run is missed. */
  watch({ store, sampler, operator, maxRps, now, log, plotted }: WatchedMirror): Watch {
    this.#plotted = plotted ?? null;
    const counting = this.#counting;
    const tallies = new Tallies({ store, counting });
    let isStopped = false;
    const tally = (): void => {
      tallies.update().catch((error: unknown) => {
        if (!isStopped)
          log.warn(
            { err: error },
            'cannot read the figures for the metrics from the database: they stay as they are',
          );
      });
    };
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
      blocked: operator.blocked?.kind ?? null,
      readsUnderWay: operator.readsUnderWay,
      lastDeliveryAtMs: watchman.lastDeliveryAtMs,
      condition: watchman.condition,
    }));
    this.#watchman = watchman;
    const stopListening = store.writer.onApplied(({ reports }) => {
      for (const { facts } of reports) for (const fact of facts) countFact(counting, fact, now());
    });
    return {
      alarms: watchman,
      stoodStill: () => watchman.stoodStill(),
      start(): void {
        tally();
        sampler.onSample(tally);
        watchman.start().catch((error: unknown) => {
          log.warn(
            { err: error },
            'cannot read from the event log how often deliveries came: the silence alarm learns it from now on',
          );
        });
      },
      async stop(): Promise<void> {
        isStopped = true;
        stopListening();
        watchman.stop();
        await tallies.settled();
      },
    };
  }

  #sampleLag(body: Uint8Array, nowMs: number): void {
    const monotonicMs = performance.now();
    if (monotonicMs < this.#nextLagMs || body.byteLength > LAG_MAX_BYTES) return;
    this.#nextLagMs = monotonicMs + LAG_EVERY_MS;
    const [change] = parseDelivery(body).changes;
    if (change === undefined) return;
    const lateMs = Math.max(0, nowMs - change.updateTimeMs);
    this.#counting.lagSeconds.observe(lateMs / 1_000);
  }
}

export interface Watch {
  readonly alarms: Watchman;
  /** The mirror was not listening for a while, up to now. */
  stoodStill(): void;
  start(): void;
  /** After the sampler. */
  stop(): Promise<void>;
}
