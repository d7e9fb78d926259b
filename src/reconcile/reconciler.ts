/**
 * Everything that reads from the store: the queue, the runs, the lookups, the schedules, the repair after downtime.
 */
import type { Fact } from '../core/apply/fact.ts';
import type { Run, RunKind } from '../core/runs.ts';
import type { Logger } from '../platform/log.ts';
import type { CatalogueClient } from '../store-api/client.ts';
import type { TokenProvider } from '../store-api/token/token.ts';
import { StoreError } from '../sqlite/errors.ts';
import type { Store } from '../mirror/store.ts';
import { Lookups } from './lookups.ts';
import { sleep } from '../platform/sleep.ts';
import { messageOf } from '../platform/thrown.ts';
import { Pause } from './pause.ts';
import { ReadQueue } from './read-queue.ts';
import {
  allowRemovals,
  beginCatalogueRun,
  beginProductRun,
  endRun,
  followRun,
  type OrderedRun,
} from './runs.ts';
import { startSchedule, type Schedule, type ScheduleOptions } from './schedule.ts';
import { scanCatalogue } from './catalogue-scan.ts';
import { Throttle, type Blocked } from './throttle.ts';
import { Ticks } from './ticks.ts';

interface ReconcilerDeps {
  readonly store: Pick<Store, 'reader' | 'writer'>;
  readonly client: CatalogueClient;
  readonly tokens: TokenProvider;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: Logger;
  readonly maxConcurrency: number;
  readonly maxRps: number;
  /** Host and port of the store, for people. */
  readonly storeAt?: string;
  readonly schedules: ScheduleOptions;
}

const TICK_MS = 250;
const COUNT_AFTER_MS = 5_000;
const TROUBLE_MS = 1_000;

export class Reconciler {
  readonly #deps: ReconcilerDeps;
  readonly #throttle: Throttle;
  readonly #queue: ReadQueue;
  readonly #lookups: Lookups;
  readonly #ticks: Ticks;
  readonly #stop = new AbortController();
  /** Between two ticks; ended early when a run may begin or end. */
  readonly #pause = new Pause();
  #schedule: Schedule | null = null;
  #unlisten: () => void = () => undefined;
  #ticking: Promise<void> | null = null;
  /** The catalogue scan under way, for one run at a time. */
  #scanning: Promise<void> | null = null;
  /** Runs begin one after the other, so that two simultaneous requests get the same one. */
  #lastBegun: Promise<unknown> = Promise.resolve();
  /** When this process began the runs under way, on the monotonic clock. */
  readonly #begunMs = new Map<number, number>();
  /** Counting what is left of large runs takes long: a twentieth of the time, but at least once in 5 s. */
  #countAgainMs = 0;

  constructor(deps: ReconcilerDeps) {
    const { log } = deps;
    this.#deps = deps;
    this.#throttle = new Throttle({
      now: deps.now,
      random: deps.random,
      maxConcurrency: deps.maxConcurrency,
      maxRps: deps.maxRps,
      storeAt: deps.storeAt,
      onBlocked: (why) => {
        if (why === null) log.info('the mirror reads from the store again');
        else log.warn({ kind: why.kind, untilMs: why.untilMs }, why.message);
      },
    });
    this.#queue = new ReadQueue({
      ...deps,
      throttle: this.#throttle,
      onIdle: () => this.#pause.wake(),
      onParked: (productId, error) =>
        log.warn(
          { productId, err: error },
          'the store refuses to answer for this product; its rows stay suspect until the next schedule or resync tries again',
        ),
    });
    this.#ticks = new Ticks(deps);
    this.#lookups = new Lookups(
      { ...deps, throttle: this.#throttle, beginScan: () => this.#beginScan('scheduled') },
      this.#stop.signal,
    );
  }

  get blocked(): Blocked | null {
    return this.#throttle.blocked;
  }

  get readsUnderWay(): number {
    return this.#queue.readsUnderWay;
  }

  /** Begins to read. Call `noteDowntime` first when deliveries may have been missed. */
  start(): void {
    const { store, schedules, log } = this.#deps;
    this.#unlisten = store.writer.onApplied(({ reports }) => {
      const isLoss = ({ kind }: Fact): boolean => kind === 'gap_proved' || kind === 'loss_suspected';
      if (reports.some(({ facts }) => facts.some(isLoss))) this.#ticks.noteLoss();
    });
    this.#queue.start();
    this.#ticking = this.#tick();
    this.#schedule = startSchedule(
      schedules,
      { reconcile: () => this.#ticks.run(), resync: () => this.#beginScan('scheduled') },
      (error, job) =>
        log.error({ err: error, job }, 'a scheduled job failed; it runs again at its next time'),
    );
  }

  /**
   * Makes up for deliveries that were missed while the public port was closed or the process stood still, by reading
   * (docs/architecture.md#downtime).
   *
   * @param downSinceMs 0: never listened before. @throws StoreError
   */
  async noteDowntime(downSinceMs: number): Promise<void> {
    const { store, now, log } = this.#deps;
    const atMs = now();
    if ((await store.reader.ask('lastFullSync')) !== null) {
      log.warn(
        { downSinceMs },
        'deliveries may have been missed: every product is read, the most recently active first; until then its rows are suspect',
      );
    }
    await store.writer.append({ kind: 'downtime', atMs, downSinceMs });
    await this.readAll();
  }

  /** Reads the whole catalogue: its first read in this epoch, or after a downtime. @throws StoreError */
  async readAll(): Promise<void> {
    const { store } = this.#deps;
    const lastFullSyncAtMs = await store.reader.ask('lastFullSync');
    const runs = await store.reader.ask('runningRuns');
    // A first read under way continues: it comes before what a downtime asks for.
    const isFirst = lastFullSyncAtMs === null && !runs.some(({ kind }) => kind === 'initial');
    await this.#beginScan(isFirst ? 'initial' : 'downtime');
  }

  /** An operator's command: reads the whole catalogue, or these products, and lifts whatever holds reads back. */
  async resync(
    productIds: readonly string[] | null,
    options: { readonly allowRemovals: boolean },
  ): Promise<OrderedRun> {
    const askedMs = performance.now();
    // An operator's request clears all read blocks.
    await this.#deps.tokens.releaseLatch();
    this.#throttle.release();
    this.#lookups.forgetPacing();
    if (options.allowRemovals) await allowRemovals(this.#deps);
    const run = await this.#begin(() =>
      productIds === null
        ? beginCatalogueRun(this.#deps, 'operator')
        : beginProductRun(this.#deps, [...new Set(productIds)]),
    );
    this.#queue.wake();
    this.#pause.wake();
    // Who asked at the same moment has joined nothing.
    return { ...run, joined: run.joined && (this.#begunMs.get(run.id) ?? 0) < askedMs };
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#unlisten();
    this.#pause.stop();
    this.#schedule?.stop();
    await this.#queue.stop();
    await Promise.all([this.#ticking, this.#scanning, this.#lookups.ended(), this.#lastBegun]);
  }

  #beginScan(kind: RunKind): Promise<OrderedRun> {
    return this.#begin(() => beginCatalogueRun(this.#deps, kind));
  }

  #begin(order: () => Promise<OrderedRun>): Promise<OrderedRun> {
    const begun = this.#lastBegun.then(order).then((run) => {
      if (!run.joined) this.#begunMs.set(run.id, performance.now());
      // Before `start` nothing is read.
      if (this.#ticking !== null) this.#scan(run);
      return run;
    });
    this.#lastBegun = begun.catch(() => undefined);
    return begun;
  }

  /** Unless another one is under way: its end brings this one's turn. */
  #scan(run: Run): void {
    if (run.listDone || this.#isStopped()) return;
    this.#scanning ??= this.#scanToEnd(run).finally(() => (this.#scanning = null));
  }

  async #tick(): Promise<void> {
    while (!this.#isStopped()) {
      try {
        await this.#followRuns();
        await this.#doChores();
        await this.#pause.wait(TICK_MS);
      } catch (error) {
        if (this.#isStopped()) return;
        if (this.#deps.store.writer.fault === null) {
          this.#deps.log.error({ err: error }, 'following the runs failed; trying again');
        }
        await sleep(TROUBLE_MS, this.#stop.signal).catch(() => undefined);
      }
    }
  }

  #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #followRuns(): Promise<void> {
    const startedMs = performance.now();
    if (startedMs < this.#countAgainMs) return;
    for (const run of await this.#deps.store.reader.ask('runningRuns')) {
      this.#scan(run);
      if (await followRun(this.#deps, run)) this.#begunMs.delete(run.id);
    }
    const endedMs = performance.now();
    this.#countAgainMs = endedMs + Math.min(19 * (endedMs - startedMs), COUNT_AFTER_MS);
  }

  /** Never rejects. What a failing database interrupts, the next tick continues. */
  async #scanToEnd(run: Run): Promise<void> {
    const { log } = this.#deps;
    try {
      await scanCatalogue({ ...this.#deps, throttle: this.#throttle }, run, this.#stop.signal);
      this.#pause.wake();
    } catch (error) {
      if (this.#isStopped()) return;
      log.error(
        { err: error, runId: run.id },
        'the catalogue scan failed: it is continued, at the latest by the next schedule or resync',
      );
      await sleep(TROUBLE_MS, this.#stop.signal).catch(() => undefined);
      if (error instanceof StoreError || this.#isStopped()) return;
      await endRun(this.#deps, run, messageOf(error)).catch((storeError: unknown) =>
        log.error(
          { err: storeError, runId: run.id },
          'the database could not record the end of the run: the scan is repeated',
        ),
      );
    }
  }

  async #doChores(): Promise<void> {
    const { store, now } = this.#deps;
    const due = await store.reader.ask('dueChores', { nowMs: now() });
    if (due.bundles) await store.writer.append({ kind: 'due', atMs: now(), what: 'bundles' });
    await this.#ticks.runAfterLoss();
    if (due.lookups.length === 0 && this.#lookups.isIdle) return;
    // The first catalogue scan shows every product anyway.
    if ((await store.reader.ask('runningRuns')).some((run) => run.kind === 'initial')) return;
    this.#lookups.follow(due.lookups);
  }
}
