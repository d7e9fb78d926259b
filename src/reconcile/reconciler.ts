import { setTimeout as sleep } from 'node:timers/promises';
import { Cron } from 'croner';
import type { Fact } from '../core/apply/fact.ts';
import type { RemovalDecision } from '../core/input.ts';
import type { Run, RunKind } from '../core/runs.ts';
import type { VerificationBound } from '../core/verification-bound.ts';
import type { ReceiverRow } from '../inbox/inbox-file.ts';
import type { ReportedSince, StreamReport } from '../inbox/report.ts';
import type { TokenProvider } from '../store-api/token/token.ts';
import { SqliteFault } from '../sqlite/errors.ts';
import { Lookups } from './lookups.ts';
import { messageOf } from '../platform/thrown.ts';
import type { ReadingDeps } from './product-reader.ts';
import { ReadQueue } from './read-queue.ts';
import {
  beginCatalogueRun,
  beginProductRun,
  beginRunAfterBarrier,
  endRun,
  followRun,
  type OrderedRun,
} from './runs.ts';
import { scanCatalogue } from './catalogue-scan.ts';
import { nextTimes } from './next-times.ts';
import { Probe } from './probe.ts';
import { Throttle } from './throttle.ts';
import type { Blocked } from '../store-api/blocked.ts';
import { Verification } from './verification.ts';

interface ReconcilerDeps extends Omit<ReadingDeps, 'throttle'> {
  readonly tokens: TokenProvider;
  readonly maxConcurrency: number;
  readonly maxRps: number;
  /** Host and port of the store, for display. */
  readonly storeAt?: string;
  /** Nothing is read while it is false; by default, it never is. */
  readonly mayRead?: () => boolean;
  /** croner patterns; null if off. */
  readonly schedules: {
    readonly reconcileCron: string | null;
    readonly verifyWithinHours: number;
    readonly resyncCron: string | null;
    readonly timezone: string | null;
  };
}

const TICK_MS = 250;
const COUNT_AFTER_MS = 5_000;
const TROUBLE_MS = 1_000;
const HOUR_MS = 60 * 60_000;
/** The schedule's share of SERVICE_MAX_RPS. */
const VERIFICATION_SHARE = 0.2;

export class Reconciler {
  readonly #deps: ReconcilerDeps;
  readonly #throttle: Throttle;
  readonly #queue: ReadQueue;
  readonly #lookups: Lookups;
  readonly #verification: Verification;
  readonly #probe: Probe;
  readonly #bound: VerificationBound;
  readonly #stop = new AbortController();
  readonly #crons: Cron[] = [];
  #unlisten: () => void = () => undefined;
  #ticking: Promise<void> | null = null;
  #scanning: Promise<void> | null = null;
  /** Runs begin one after the other, so that simultaneous requests get the same run. */
  #lastBegun: Promise<unknown> = Promise.resolve();
  /**
   * Counting the rest of large runs is slow: it gets a twentieth of the time, and runs at least every 5 s.
   */
  #countAgainMs = 0;

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
    this.#throttle = new Throttle(deps);
    const { reconcileCron, verifyWithinHours } = deps.schedules;
    this.#bound = {
      withinMs: verifyWithinHours * HOUR_MS,
      maxReadsPerSecond: deps.maxRps * VERIFICATION_SHARE,
    };
    this.#verification = new Verification({ ...deps, bound: this.#bound, isOn: reconcileCron !== null });
    this.#probe = new Probe({ ...deps, maxReadsPerSecond: this.#bound.maxReadsPerSecond });
    this.#queue = new ReadQueue({
      ...deps,
      throttle: this.#throttle,
      verification: this.#verification,
      probe: this.#probe,
    });
    this.#lookups = new Lookups(
      {
        ...deps,
        throttle: this.#throttle,
        beginSearch: () => this.#beginScan('search'),
      },
      this.#stop.signal,
    );
  }

  get blocked(): Blocked | null {
    return this.#throttle.blocked;
  }

  get readsUnderWay(): number {
    return this.#queue.readsUnderWay;
  }

  start(): void {
    const { mirror, schedules, log } = this.#deps;
    this.#unlisten = mirror.onApplied(({ reports }) => {
      const isLoss = ({ kind }: Fact): boolean => kind === 'gap_proved' || kind === 'loss_suspected';
      if (reports.some(({ facts }) => facts.some(isLoss))) this.#verification.noteLoss();
    });
    this.#queue.start();
    this.#ticking = this.#tick();
    log.info(nextTimes(schedules), 'the schedules run next at these times');
    this.#schedule(schedules.resyncCron, 'resync', () => this.#beginScan('scheduled'));
    this.#schedule(schedules.reconcileCron, 'retries', () => mirror.command('retryFailures', undefined));
  }

  #schedule(pattern: string | null, job: string, run: () => Promise<unknown>): void {
    if (pattern === null) return;
    const { schedules, log } = this.#deps;
    const options = {
      protect: true,
      unref: true,
      catch: (error: unknown) =>
        log.error({ err: error, job }, 'a scheduled job failed; it runs again at its next time'),
      ...(schedules.timezone === null ? {} : { timezone: schedules.timezone }),
    };
    this.#crons.push(new Cron(pattern, options, () => run().then(() => undefined)));
  }

  /** The receiver's last heartbeat, and what is new in its report. Call it each second. */
  heard(row: ReceiverRow, news: ReportedSince, stream: StreamReport | null): void {
    this.#probe.heard(row, news, stream);
  }

  /** null if the schedule is off. */
  get verificationBound(): VerificationBound | null {
    return this.#deps.schedules.reconcileCron === null ? null : this.#bound;
  }

  /** An operator's request: clears all read blocks, then reads the whole catalogue or these products. */
  async resync(productIds: readonly string[] | null, decision: RemovalDecision | null): Promise<OrderedRun> {
    await this.#deps.tokens.retryCredentials();
    this.#throttle.release();
    const { mirror, now } = this.#deps;
    const run = await this.#begin(() =>
      productIds === null
        ? beginCatalogueRun(this.#deps, 'operator')
        : beginProductRun(this.#deps, [...new Set(productIds)]),
    );
    if (decision !== null) {
      const allowed = { ...decision, productIds, runId: run.id };
      await mirror.append({ kind: 'allow_removals', atMs: now(), ...allowed });
    }
    return run;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#unlisten();
    for (const cron of this.#crons) cron.stop();
    await this.#queue.stop();
    await Promise.all([this.#ticking, this.#scanning, this.#lookups.ended(), this.#lastBegun]);
  }

  #beginScan(kind: RunKind): Promise<OrderedRun> {
    return this.#begin(() => beginCatalogueRun(this.#deps, kind));
  }

  #begin<R extends Run | null>(order: () => Promise<R>): Promise<R> {
    const begun = this.#lastBegun.then(order).then((run) => {
      // Nothing is read before `start`.
      if (run !== null && this.#ticking !== null) this.#scan(run);
      return run;
    });
    this.#lastBegun = begun.catch(() => undefined);
    return begun;
  }

  /** Does nothing while another scan runs; the next tick calls it again. */
  #scan(run: Run): void {
    if (run.listDone || this.#isStopped()) return;
    this.#scanning ??= this.#scanToEnd(run).finally(() => (this.#scanning = null));
  }

  async #tick(): Promise<void> {
    while (!this.#isStopped()) {
      try {
        await this.#begin(() => beginRunAfterBarrier(this.#deps));
        await this.#followRuns();
        await this.#doChores();
        await this.#wait(TICK_MS);
      } catch (error) {
        if (this.#isStopped()) return;
        if (this.#deps.mirror.fault === null) {
          this.#deps.log.error({ err: error }, 'the runs could not be updated; trying again');
        }
        await this.#wait(TROUBLE_MS);
      }
    }
  }

  async #wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }

  #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #followRuns(): Promise<void> {
    const startedMs = performance.now();
    if (startedMs < this.#countAgainMs) return;
    for (const run of await this.#deps.mirror.ask('runningRuns')) {
      this.#scan(run);
      await followRun(this.#deps, run);
    }
    const endedMs = performance.now();
    this.#countAgainMs = endedMs + Math.min(19 * (endedMs - startedMs), COUNT_AFTER_MS);
  }

  /** Never rejects. The next tick continues a scan that a database failure interrupted. */
  async #scanToEnd(run: Run): Promise<void> {
    const { log } = this.#deps;
    try {
      await scanCatalogue({ ...this.#deps, throttle: this.#throttle }, run, this.#stop.signal);
    } catch (error) {
      if (this.#isStopped()) return;
      log.error(
        { err: error, runId: run.id },
        'the catalogue scan failed: it continues at the next schedule or resync at the latest',
      );
      await this.#wait(TROUBLE_MS);
      if (error instanceof SqliteFault || this.#isStopped()) return;
      await endRun(this.#deps, run, messageOf(error)).catch((recordError: unknown) =>
        log.error(
          { err: recordError, runId: run.id },
          'the database could not record the end of the run: the scan is repeated',
        ),
      );
    }
  }

  async #doChores(): Promise<void> {
    const { mirror, now } = this.#deps;
    if (await mirror.ask('areBundlesDue', { nowMs: now() })) {
      await mirror.append({ kind: 'bundles_due', atMs: now() });
    }
    await this.#verification.check();
    await this.#lookups.check();
    await this.#probe.check();
  }
}
