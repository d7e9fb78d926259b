/** Runs a plan on the real code and checks every promise. */
import { compareWithTruth, missedVariants } from '../../src/cli/demo/compare.ts';
import type { Fact } from '../../src/core/apply/fact.ts';
import { createRandom } from '../../src/sandbox/world/random.ts';
import { createService, type SimulatedService } from '../../src/sandbox/sandbox.ts';
import type { Transmitter } from '../../src/sandbox/network/transmit.ts';
import type { Delivery } from '../../src/sandbox/network/webhooks.ts';
import { isDamage } from '../../src/sqlite/errors.ts';
import { prepared } from '../../src/sqlite/prepared.ts';
import { openForQueries } from '../../src/mirror/reader/serve-queries.ts';
import { type Db } from '../../src/sqlite/open.ts';
import { present } from '../shared/present.ts';
import { createCarriers } from './carriers.ts';
import { createPerformer, type Stage } from './actions.ts';
import { DISKS, onVirtualTime } from './disk.ts';
import type { EpochClocks } from './journal.ts';
import { Fleet } from './fleet.ts';
import { installGlobals } from './globals.ts';
import { Lives } from './lives.ts';
import { Machine } from './machine.ts';
import { Mail } from './mail.ts';
import type { Plan } from './plan.ts';
import { StoreSide } from './store-side.ts';
import { VirtualTime, WORLD } from './virtual-time.ts';
import { Answered } from './watch/answered.ts';
import { GuardWatch } from './watch/guard.ts';
import { Calls } from './watch/calls.ts';
import { Consumer } from './watch/consumer.ts';
import { Endless } from './watch/endless.ts';
import { isSettled, openWork } from './watch/open-work.ts';
import { Promises } from './watch/promises.ts';
import { checkReapplied } from './watch/reapplied.ts';
import { Seen } from './watch/seen.ts';
import { Delivered } from './watch/delivered.ts';
import { Trusted } from './watch/trusted.ts';
import { WrongnessMeter, type Wrongness } from './watch/wrongness.ts';

export interface Outcome {
  readonly faults: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly wrongness: Wrongness;
  readonly virtualMs: number;
  readonly fingerprint: string;
}

interface RunOptions {
  readonly trace?: (line: string) => void;
  readonly keepAt?: string;
}

const SAMPLE_EVERY_MS = 2_000;
/** After the last trouble the mirror may take this long to be at rest. */
const REST_WITHIN_MS = 30 * 60_000;
/** How long the service blocks a client that failed to authenticate too often. */
const LONGEST_BLOCK_MS = 15 * 60_000;
/** A little more than the longest pause between two reads for a conflict. */
const REST_UNAIDED_WITHIN_MS = 20 * 60_000;
/**
 * A variant that the store does not have is given up only after a read of every product, which the schedule has a bound
 * for, or a day if it is off. Its search is not awaited for longer than this.
 */
const VAIN_SEARCHES_WITHIN_MS = 5 * 60_000;
const STAYS_MS = 45_000;
const SLOWEST_ANSWER_MS = 1_000;
const LONGEST_SLEEP_MS = 3 * 3_600_000;
const FAULTS_KEPT = 20;

export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<Outcome> {
  const time = new VirtualTime(plan.startMs);
  const globals = installGlobals(time);
  const run = new Run(plan, time, globals, options);
  try {
    return await run.all();
  } finally {
    run.end();
    globals.restore();
  }
}

const HIDING = [
  ...['first_variant', 'all_not_found', 'empty_list', 'refused', 'nonsense'].map(
    (fault) => `reads: ${fault}`,
  ),
  'timestamp ahead',
  'future-dated timestamp',
  'restored backup (inbox)',
  "service's clock set back",
  "service's clock set forward",
];

const CLOCKS_SET = [
  'timestamp ahead',
  'future-dated timestamp',
  'restored backup (inbox)',
  'the process stands still',
  ...['mirror', 'service'].flatMap((whose) => [`${whose}'s clock set back`, `${whose}'s clock set forward`]),
];

class Run {
  readonly #plan: Plan;
  readonly #time: VirtualTime;
  readonly #options: RunOptions;
  readonly #faults: string[] = [];
  readonly #counts = new Map<string, number>();
  readonly #service: SimulatedService;
  /** Runs the mirror, and the receiver unless that is a process of its own. */
  readonly #machine: Machine;
  readonly #receiver: Machine;
  readonly #mail: Mail;
  readonly #fleet: Fleet | null;
  readonly #stage: Stage;
  readonly #performer;
  readonly #answered = new Answered((what) => this.#fault(what));
  readonly #consumer = new Consumer((what) => this.#fault(what));
  readonly #guard = new GuardWatch((what) => this.#fault(what));
  readonly #promises = new Promises(
    (what) => this.#fault(what),
    (db, gone) => this.#guard.removed(db, gone),
    (productId, sentAtMs) => this.#seen.merged(productId, sentAtMs),
  );
  readonly #calls = new Calls(
    (what) => this.#fault(what),
    (productId, detail) => {
      this.#promises.sawDetail(productId, detail);
      const { sampledAtMs, sentAtMs, isTrue } = detail;
      this.#seen.answered({ productId, sentAtMs, sampledAtMs, isTrue });
    },
  );
  readonly #seen: Seen;
  readonly #side: StoreSide;
  readonly #delivered = new Delivered(
    (what) => this.#fault(what),
    () => this.#plan.dateAheadMs > 0 && this.#counts.has("service's clock set forward"),
  );
  readonly #trusted = new Trusted((what) => this.#fault(what));
  readonly #wrongness = new WrongnessMeter();
  readonly #polls;
  #isHealing = false;
  #observer: Db | null = null;
  #inFlight: () => number;

  constructor(
    plan: Plan,
    time: VirtualTime,
    globals: ReturnType<typeof installGlobals>,
    options: RunOptions,
  ) {
    this.#plan = plan;
    this.#time = time;
    this.#options = options;
    const stream = (label: string) => createRandom(plan.seed, label).next;
    this.#seen = new Seen(
      (what) => this.#fault(what),
      () => time.nowMs,
      !plan.leavesOutWarehouses,
    );
    this.#polls = createRandom(plan.seed, 'consumer');
    const ways = {
      time,
      service: () => this.#service,
      side: () => this.#side,
      isCut: () => this.#stage.isCut,
      dateAheadMs: plan.dateAheadMs,
      leavesOutWarehouses: plan.leavesOutWarehouses,
      onReached: (delivery) => {
        this.#trusted.reached(delivery.items);
        this.#delivered.reached(delivery);
      },
      onAnswered: (delivery, status, ms) => {
        if (status === 204) this.#delivered.answered(delivery.items);
        this.#forProductsOf(delivery.items, (productId) => this.#seen.delivered(productId));
        const misleading = delivery.items.filter((item) => this.#delivered.passesForLast(item));
        this.#forProductsOf(misleading, (productId) => this.#seen.forget(productId));
        this.#onAnswered(delivery, status, ms);
      },
      onCall: (call) => this.#calls.onCall(call, () => this.#oldestDue()),
    } satisfies Partial<Parameters<typeof createCarriers>[0]>;
    const carriers = createCarriers({ ...ways, random: stream('carriers'), machine: () => this.#machine });
    const fleet = plan.kind === 'stream' ? this.#openFleet() : null;
    this.#fleet = fleet;
    const incoming = createCarriers({
      ...ways,
      random: stream('incoming'),
      machine: () => fleet?.next() ?? this.#receiver,
    });
    this.#inFlight = incoming.inFlight;
    this.#mail = new Mail(
      time,
      fleet === null ? incoming.transmitter : this.#noticingLosses(incoming.transmitter),
      () => this.#service.webhookSecret,
      (what) => this.#count(what),
    );
    this.#service = createService(
      {
        seed: plan.seed,
        products: plan.products,
        now: () => time.nowMs,
        timers: {
          setTimeout: (action, ms) => time.after(ms, WORLD, action),
          clearTimeout: (handle) => {
            if (handle !== undefined) (handle as { cancelled: boolean }).cancelled = true;
          },
        },
        webhookUrl: 'http://127.0.0.1:8787/webhooks',
        clockOffsetMs: plan.serviceOffsetMs,
      },
      this.#mail,
    );
    this.#service.clock.nodeSkewMs = plan.nodeSkewMs;
    this.#service.network.intercept = (delivery) => {
      this.#delivered.happened(delivery.items);
      this.#trusted.happened(delivery.items);
      this.#forProductsOf(delivery.items, (productId) => this.#seen.touched(productId));
      const isReadable = this.#mail.nextFate.mangling !== 'broken_json';
      const verdict = this.#mail.route(delivery);
      if (verdict === 'lose' || !isReadable) this.#delivered.lost(delivery.items);
      return verdict;
    };
    this.#side = new StoreSide(time, this.#service, () => this.#stage.mistakes.size > 0);
    this.#service.reads.latencyMs = { min: 0, max: plan.readLatencyMs };
    const host = {
      time,
      globals,
      credentials: {
        clientId: this.#service.clientId,
        clientSecret: this.#service.clientSecret,
        webhookSecrets: [this.#service.webhookSecret] as const,
      },
      settings: {
        reconcileCron: plan.reconcileCron,
        verifyWithinHours: 2,
        resyncCron: plan.resyncCron,
        maxConcurrency: plan.maxConcurrency,
        maxRps: plan.maxRps,
        retentionDays: 30,
      },
      onFailure: null,
      onFault: (what: string) => this.#fault(what),
    };
    fleet?.open((at) => {
      const { transport } = createCarriers({
        ...ways,
        random: stream(`host ${at}`),
        machine: () => present(fleet.receivers[at]),
        onCall: () => undefined,
      });
      return {
        ...host,
        random: stream(`receiver ${at}`),
        transport,
        log: (line) => this.#trace(`host ${at}: ${line}`),
        onOpen: () => undefined,
        onEnded: () => undefined,
      };
    });
    this.#machine = new Machine({
      ...host,
      role: plan.isSplit ? 'mirror' : 'both',
      ...fleet?.watched(() => globals.wallOffsetMs),
      random: stream('machine'),
      transport: carriers.transport,
      log: (line) => this.#trace(`mirror: ${line}`),
      onOpen: ({ db }, epoch) => {
        this.#promises.watch(db, this.#machine.disk.journal.db);
        if (epoch !== null) this.#onNewEpoch(db, epoch);
      },
      onEnded: () => this.#calls.died(),
      onFailure: plan.kind === 'lives' ? () => this.#stage.lives.failed(this.#machine) : null,
    });
    this.#receiver = plan.isSplit
      ? new Machine({
          ...host,
          role: 'receiver',
          disk: this.#machine.disk,
          random: stream('receiver'),
          transport: carriers.transport,
          log: (line) => this.#trace(`receiver: ${line}`),
          onOpen: () => undefined,
          onEnded: () => undefined,
          onFailure: () => this.#stage.lives.failed(this.#receiver),
        })
      : this.#machine;
    this.#machine.instantReads = plan.instantReads;
    this.#machine.disk.onFault = (what) => this.#fault(what);
    this.#machine.disk.onCommitted = (db) => this.#promises.check(db);
    this.#stage = {
      time,
      globals,
      // The name belongs to the seeds: another one would draw other stories.
      random: stream('deeds'),
      service: this.#service,
      machine: this.#machine,
      receiver: this.#receiver,
      lives: this.#openLives(globals),
      mail: this.#mail,
      count: (what) => this.#count(what),
      readLatencyMs: plan.readLatencyMs,
      onWord: () => this.#calls.wordSent(),
      onWordAnswered: () => this.#calls.wordAnswered(),
      side: this.#side,
      onTouched: (productId) => this.#onTouched(productId),
      onBackUp: () => {
        const files = this.#machine.disk.backUp();
        if (files === null) return;
        this.#stage.backup = { files, atMs: time.nowMs };
        this.#answered.backUp();
      },
      onRestore: (restore, of) => {
        this.#closeObserver();
        restore();
        this.#isHealing = true;
        this.#seen.restore();
        if (of !== 'inbox') return;
        this.#answered.restore();
        this.#delivered.restore();
      },
      mistakes: new Map(),
      isCut: false,
      backup: null,
    };
    this.#performer = createPerformer(this.#stage);
  }

  get #machines(): ReadonlySet<Machine> {
    return new Set([this.#receiver, this.#machine]);
  }

  #openLives(globals: ReturnType<typeof installGlobals>): Lives {
    return new Lives({
      time: this.#time,
      globals,
      receiver: this.#receiver,
      mirror: this.#machine,
      service: this.#service,
      socketRoom: this.#plan.socketRoom,
      count: (what) => this.#count(what),
      onCopy: () => this.#answered.backUp(),
      onFiles: (change, { of, isCopy }) => {
        this.#closeObserver();
        change();
        this.#isHealing = true;
        this.#seen.restore();
        if (!of.includes('inbox')) return;
        if (isCopy) this.#answered.restore();
        else this.#answered.lose(this.#receiver.life, this.#time.nowMs);
        this.#delivered.restore();
      },
    });
  }

  #openFleet(): Fleet {
    const { seed, startMs, activeMs } = this.#plan;
    return new Fleet({
      time: this.#time,
      seed,
      untilMs: startMs + activeMs,
      count: (what) => this.#count(what),
    });
  }

  /** While another receiver listens, no downtime follows a delivery that a dying one did not answer. */
  #noticingLosses(transmitter: Transmitter): Transmitter {
    return {
      ...transmitter,
      transmit: async (delivery, url) => {
        const outcome = await transmitter.transmit(delivery, url);
        if (outcome.outcome !== 'answered') this.#delivered.lost(delivery.items);
        return outcome;
      },
    };
  }

  #onNewEpoch(mirror: Db, clocks: EpochClocks): void {
    this.#closeObserver();
    this.#promises.onNewEpoch(clocks);
    this.#guard.restore();
    // A new epoch begins at the end of the inbox: no read shows what only earlier webhooks named.
    this.#answered.forget();
    this.#delivered.onNewEpoch(this.#machine.disk.bodiesBefore(mirror));
    this.#seen.restore();
  }

  async all(): Promise<Outcome> {
    const { plan } = { plan: this.#plan };
    const time = this.#time;
    const onRejection = (error: unknown): void => this.#fault(`unhandled: ${describe(error)}`);
    process.on('unhandledRejection', onRejection);
    try {
      this.#fleet?.begin();
      for (const machine of this.#machines) void machine.start();
      for (const step of plan.steps) {
        time.at(plan.startMs + step.atMs, WORLD, () => {
          this.#trace(JSON.stringify(step.action));
          this.#performer.perform(step.action);
        });
      }
      this.#sampleAgain();
      this.#pollAgain();
      const isOver = (): boolean => this.#faults.length > 0;
      await time.runUntil(plan.startMs + plan.activeMs, isOver);
      if (!isOver()) await this.#comeToRest();
      if (!isOver()) await this.#checkTheEnd();
    } finally {
      process.off('unhandledRejection', onRejection);
    }
    return {
      faults: this.#faults,
      counts: Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))),
      wrongness: this.#wrongness.total,
      virtualMs: time.nowMs - plan.startMs,
      fingerprint: `${time.steps}/${time.nowMs}/${this.#calls.details}/${this.#answered.count}`,
    };
  }

  end(): void {
    this.#closeObserver();
    this.#stage.lives.end();
    this.#fleet?.end();
    for (const machine of this.#machines) machine.kill();
    this.#machine.disk.closeAll();
    if (this.#options.keepAt !== undefined) this.#machine.disk.keepAt(this.#options.keepAt);
    this.#machine.disk.remove();
  }

  /** At rest and after reading every product the mirror equals the store. */
  async #comeToRest(): Promise<void> {
    this.#trace('quiet from here on');
    this.#performer.calm();
    this.#fleet?.calm();
    for (const machine of this.#machines) machine.cancelKill();
    await this.#settleWebhooks();
    await this.#waitFor('the machine to wake', LONGEST_SLEEP_MS, () => !this.#isAsleep(), 1_000);
    if (!(await this.#waitFor('a running process', 120_000, () => this.#runs()))) return;
    const beforeMs = this.#aliveAtMs();
    if (!(await this.#waitFor('a heartbeat', 120_000, () => this.#aliveAtMs() !== beforeMs))) return;
    await this.#restUnaided();
    await this.#pass(5_000);
    this.#calls.released();
    const isHeld = (this.#status()?.held_removals ?? 0) > 0;
    if (isHeld) this.#count('the guard held');
    this.#guard.allow();
    if (await this.#resync()) {
      this.#count('a resync joined an earlier one');
      await this.#waitFor('the earlier run to end', REST_WITHIN_MS, () => !this.#isResyncing(), 1_000);
      await this.#resync();
    }
    const atRest = (): boolean => this.#unrest() === null;
    const isAtRest = await this.#waitFor('rest', REST_WITHIN_MS, atRest, 1_000);
    if (!isAtRest) this.#fault(`never at rest: ${this.#unrest()}`);
    await this.#pass(STAYS_MS);
    const unrest = this.#unrest();
    if (unrest !== null && this.#faults.length === 0) this.#fault(`at rest, and then not: ${unrest}`);
  }

  async #resync(): Promise<boolean> {
    let joined = false;
    await this.#drive(
      this.#machine.ask('/api/resync', { allow_removals: true }).then((answer) => {
        joined = (answer?.json as { joined?: boolean } | undefined)?.joined === true;
      }),
    );
    return joined;
  }

  #isResyncing(): boolean {
    const db = this.#observe();
    const runs = `SELECT EXISTS (SELECT 1 FROM runs WHERE state = 'running' AND product_ids_json IS NULL AND kind <> 'scheduled')`;
    return db === null || prepared<[], number>(db, runs).pluck().get() === 1;
  }

  async #restUnaided(): Promise<void> {
    const longMs = this.#time.nowMs + VAIN_SEARCHES_WITHIN_MS;
    const isInStore = (variantId: string): boolean => this.#service.truth.variant(variantId) !== undefined;
    const isAwaited = (variantId: string): boolean => this.#time.nowMs <= longMs || isInStore(variantId);
    const isOver = (): boolean => this.#isSettled(isAwaited) || this.#waitsForAPerson();
    const withinMs = REST_UNAIDED_WITHIN_MS + (this.#calls.wasSlowedDown ? LONGEST_BLOCK_MS : 0);
    await this.#waitFor('rest without an operator', withinMs, isOver, 1_000);
    const db = this.#observe();
    if (db === null || !this.#isSettled(isInStore)) return;
    this.#count('at rest unaided');
    this.#seen.check(db, this.#service, 'all');
    this.#delivered.checkRest(db, this.#service, {
      isOrdered: this.#plan.nodeSkewMs === 0,
      areLevelsRead: !this.#plan.leavesOutWarehouses,
      areTotalsTrue: !['no_warehouses', 'hidden_warehouse'].some((fault) =>
        this.#counts.has(`reads: ${fault}`),
      ),
    });
    this.#checkMoved(db);
  }

  #checkMoved(db: Db): void {
    const isHiding = HIDING.some((what) => this.#counts.has(what));
    if (!isHiding && this.#plan.nodeSkewMs === 0)
      this.#delivered.checkMoved(db, this.#service, this.#time.nowMs);
  }

  #waitsForAPerson(): boolean {
    const db = this.#observe();
    return (
      this.#machine.isLockedOut ||
      (db !== null &&
        prepared<[], number>(db, 'SELECT EXISTS (SELECT 1 FROM due_reads WHERE parked = 1)').pluck().get() ===
          1)
    );
  }

  #isSettled(isAwaited: (variantId: string) => boolean): boolean {
    const db = this.#observe();
    return db !== null && isSettled(db, isAwaited);
  }

  async #settleWebhooks(): Promise<void> {
    const { network } = this.#service;
    const quiet = (): boolean => this.#inFlight() === 0 && this.#mail.waiting === 0;
    let idle = false;
    void network.flush().then(() => (idle = true));
    await this.#waitFor('the last webhook', 3 * 3_600_000, () => idle && quiet(), 1_000);
    if (this.#fleet !== null)
      await this.#waitFor('the stream', 600_000, () => this.#runs() && this.#isDrained(), 1_000);
  }

  /** Every answered delivery is in the mirror's inbox. */
  #isDrained(): boolean {
    return this.#fleet?.isDrained() ?? true;
  }

  #isAsleep(): boolean {
    return this.#machine.isSuspended || this.#stage.lives.isMachineOff;
  }

  #runs(): boolean {
    // Nothing starts on a machine that is off, and its boot would move the clock of a process that runs.
    if (this.#isAsleep()) return false;
    for (const machine of this.#machines) if (machine.life === null) void machine.start();
    return [...this.#machines].every((machine) => machine.isRunning);
  }

  #unrest(): string | null {
    const db = this.#observe();
    const status = this.#status();
    if (db === null || status === null) return 'there is no database';
    const open = openWork(db);
    if (open !== null) return open;
    // A story in which no webhook was accepted is at rest without proof of the way in.
    const isCatchingUp = status.state === 'catching_up' && status.state_cause !== 'unproven';
    if (isCatchingUp) return `the state is ${status.state} (${status.state_cause})`;
    return this.#differences(this.#machine.disk.databasePath);
  }

  #differences(databasePath: string): string | null {
    const { differences } = compareWithTruth(
      databasePath,
      { snapshot: () => this.#truthAsDelivered() },
      this.#inTheDark(),
    );
    return differences.length === 0 ? null : differences.slice(0, 5).join('; ');
  }

  /** Variants with lost, unordered or forgotten webhooks: no read shows a pulled variant's warehouses. */
  #inTheDark(): Set<string> {
    const { deliveries, truth } = this.#service;
    const unordered = this.#plan.nodeSkewMs > 0 ? truth.variants.map((variant) => variant.id) : [];
    return new Set([
      ...missedVariants(deliveries),
      ...this.#answered.forgotten,
      ...this.#mail.unreadable,
      ...unordered,
    ]);
  }

  #truthAsDelivered(): ReturnType<SimulatedService['truth']['snapshot']> {
    const truth = this.#service.truth.snapshot();
    if (!this.#plan.leavesOutWarehouses) return truth;
    const levels = truth.levels.map((level) => ({ ...level, kind: 'pulled' as const }));
    return { ...truth, levels };
  }

  #status(): {
    readonly state: string;
    readonly state_cause: string | null;
    readonly held_removals: number;
  } | null {
    const db = this.#observe();
    if (db === null) return null;
    type Row = { readonly state: string; readonly state_cause: string | null };
    const shown = prepared<[], Row>(db, 'SELECT state, state_cause FROM mirror_status').get();
    const held = prepared<[], number>(db, `SELECT count(*) FROM due_reads WHERE held = 1`).pluck().get();
    return { state: '', state_cause: null, ...shown, held_removals: held ?? 0 };
  }

  #aliveAtMs(): number | null {
    const db = this.#observe();
    if (db === null) return null;
    return prepared<[], number | null>(db, 'SELECT alive_at FROM mirror_status').pluck().get() ?? null;
  }

  async #checkTheEnd(): Promise<void> {
    await this.#checkSecond();
    for (const machine of this.#machines) await this.#drive(machine.stop());
    const db = this.#observe();
    if (db === null) {
      this.#fault('there is no database');
      return;
    }
    this.#answered.check(db);
    this.#consumer.finish(db);
    checkReapplied(
      { live: db, journal: this.#machine.disk.journal },
      (what) => this.#fault(what),
      (fact) => this.#countFact(fact),
      this.#endless(),
    );
    const integrity = db.pragma('integrity_check', { simple: true });
    // A damaged page is found when it is read, and no value may be in it: all were read at rest.
    const isDamaged = DISKS.some((name) => this.#counts.has(`files: flipped ${name}`));
    if (integrity !== 'ok' && !isDamaged && !this.#counts.has('files: flipped both'))
      this.#fault(`integrity_check: ${String(integrity)}`);
    for (const [fault, times] of this.#machine.disk.felt) this.#count(`disk: ${fault}`, times);
    this.#count('epochs after the first', Math.max(0, this.#consumer.epochs - 1));
    this.#count('removals checked', this.#promises.removals);
    this.#count('token requests', this.#calls.tokens);
  }

  /** The second mirror equals the store as well, and has every answered delivery. */
  async #checkSecond(): Promise<void> {
    const second = this.#fleet?.receivers[0];
    if (second === undefined) return;
    const db = openForQueries(second.disk.databasePath);
    const unrest = (): string | null => openWork(db) ?? this.#differences(second.disk.databasePath);
    for (const _ of [1, 2]) {
      await this.#drive(second.ask('/api/resync', { allow_removals: true }));
      await this.#waitFor('rest', REST_WITHIN_MS, () => unrest() === null, 1_000);
    }
    const left = unrest();
    if (left !== null) this.#fault(`the second mirror is never at rest: ${left}`);
    if (!this.#counts.has('restored backup (inbox)')) this.#answered.check(db);
    db.close();
    await this.#drive(second.stop());
  }

  #endless(): Endless | null {
    const { dateAheadMs, nodeSkewMs, serviceOffsetMs } = this.#plan;
    if (nodeSkewMs > 0 || CLOCKS_SET.some((what) => this.#counts.has(what))) return null;
    if (dateAheadMs > 60_000 && this.#counts.has('scene: hidden_level')) return null;
    return new Endless((what) => this.#fault(what), serviceOffsetMs, dateAheadMs > 60_000);
  }

  #countFact(fact: Fact): void {
    this.#count('branch' in fact ? `${fact.kind}: ${fact.branch}` : `fact: ${fact.kind}`);
    if (fact.kind === 'drift') this.#count(`drift: ${fact.reason}`);
    if (fact.kind === 'read_requested') this.#count(`read_requested: ${fact.reason}`);
  }

  #onAnswered(delivery: Delivery, status: number, ms: number): void {
    this.#count(`answered ${status}`);
    this.#trace(
      `webhook answered ${status} after ${Math.round(ms)} ms: ${Buffer.from(delivery.body).toString('utf8').slice(15, 40)}`,
    );
    // The receiver's thread answers nothing while it waits for the disk.
    const slowestMs = SLOWEST_ANSWER_MS + this.#receiver.slowestCommitMs;
    if (ms > slowestMs) this.#fault(`an answer took ${Math.round(ms)} ms`);
    if (status === 204) this.#answered.add(delivery, this.#receiver.life, this.#time.nowMs);
    else if (status !== 503) this.#fault(`an authentic delivery was answered ${status}`);
  }

  /** Products whose share of the reads is due: read longest ago, long enough ago, and free to be read. */
  #oldestDue(): string[] {
    const db = this.#observe();
    if (db === null) return [];
    const beforeMs = this.#time.nowMs + this.#stage.globals.wallOffsetMs - 20 * 60_000;
    const due = prepared<[number], { id: string; atMs: number; hasFailed: number }>(
      db,
      `SELECT product_id AS id, read_at_ms AS atMs,
         EXISTS (SELECT 1 FROM due_reads d WHERE d.product_id = p.product_id AND d.failed_at_ms IS NOT NULL) AS hasFailed
       FROM products p WHERE gone_at_ms IS NULL AND read_at_ms < ? ORDER BY read_at_ms, product_id`,
    ).all(beforeMs);
    const oldest = due.find(({ hasFailed }) => hasFailed === 0);
    if (oldest === undefined) return [];
    return due.filter(({ atMs }) => atMs <= oldest.atMs).map(({ id }) => id);
  }

  /** @returns null while a file is missing, damaged or not ours. */
  #observe(): Db | null {
    if (this.#observer !== null) return this.#observer;
    let db: Db | null = null;
    try {
      db = openForQueries(this.#machine.disk.databasePath);
      db.prepare('SELECT 1 FROM mirror_status, inbox LIMIT 0').get();
      onVirtualTime(db);
      this.#observer = db;
    } catch {
      db?.close();
    }
    return this.#observer;
  }

  #closeObserver(): void {
    this.#observer?.close();
    this.#observer = null;
  }

  #forProductsOf(items: Delivery['items'], action: (productId: string) => void): void {
    for (const { id } of items) {
      const variant = this.#service.truth.variant(id);
      if (variant === undefined) continue;
      action(variant.product.id);
      for (const bundle of variant.bundledBy) action(bundle.product.id);
    }
  }

  #onTouched(productId: string | null): void {
    for (const { id, variants } of this.#service.truth.products) {
      if (productId !== null && productId !== id) continue;
      this.#seen.touched(id);
      for (const { bundledBy } of variants)
        for (const { product } of bundledBy) this.#seen.touched(product.id);
    }
  }

  #sampleAgain(): void {
    this.#reading((db) => this.#sample(db));
    this.#time.after(SAMPLE_EVERY_MS, WORLD, () => this.#sampleAgain());
  }

  #checkTrusted(db: Db): void {
    // No program reads the mirror while its machine is suspended or off.
    if (this.#isAsleep()) this.#trusted.unread();
    else this.#trusted.check(db, this.#service, this.#time.nowMs);
  }

  #sample(db: Db): void {
    if (isAllApplied(db)) this.#isHealing = false;
    if (!this.#isHealing) this.#seen.check(db, this.#service);
    this.#checkMoved(db);
    this.#wrongness.sample(db, this.#service, SAMPLE_EVERY_MS);
    if (this.#plan.kind === 'lives') this.#checkTrusted(db);
    // Nodes with different clocks leave the order unknown; an answered delivery may not be applied yet.
    if (this.#plan.nodeSkewMs === 0 && isAllApplied(db) && this.#isDrained())
      this.#delivered.checkLevels(db, this.#service);
  }

  /** Reads the mirror as its users do. They may meet a damaged file, as long as it can be read at rest. */
  #reading(read: (db: Db) => void): void {
    const db = this.#observe();
    if (db === null) return;
    try {
      read(db);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#count('a reader met a damaged file');
      this.#closeObserver();
    }
  }

  #pollAgain(): void {
    this.#reading((db) => this.#consumer.poll(db, this.#polls.pick([1, 7, 1_000])));
    this.#time.after(this.#polls.pick([50, 700, 5_000, 30_000]), WORLD, () => this.#pollAgain());
  }

  async #waitFor(what: string, ms: number, done: () => boolean, everyMs = 200): Promise<boolean> {
    const untilMs = this.#time.nowMs + ms;
    while (this.#time.nowMs < untilMs && this.#faults.length === 0) {
      if (done()) return true;
      await this.#pass(everyMs);
    }
    if (done()) return true;
    if (this.#faults.length === 0 && what !== 'rest') this.#fault(`waited in vain for ${what}`);
    return false;
  }

  async #pass(ms: number): Promise<void> {
    await this.#time.runUntil(this.#time.nowMs + ms, () => this.#faults.length > 0);
  }

  async #drive(work: Promise<unknown>): Promise<void> {
    let ended = false;
    work.then(
      () => (ended = true),
      (error: unknown) => {
        ended = true;
        this.#fault(describe(error));
      },
    );
    await this.#waitFor('an order to be carried out', 60_000, () => ended, 100);
  }

  #count(what: string, times = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  #fault(what: string): void {
    if (this.#faults.length >= FAULTS_KEPT) return;
    this.#trace(`FAULT ${what}`);
    this.#faults.push(what);
  }

  #trace(line: string): void {
    this.#options.trace?.(`${((this.#time.nowMs - this.#plan.startMs) / 1_000).toFixed(3)} ${line}`);
  }
}

/** The mirror follows this inbox, which a new one of the receiver's may have replaced, and has applied its rows. */
function isAllApplied(db: Db): boolean {
  return (
    prepared<[], number>(
      db,
      `SELECT
         (SELECT inbox_id FROM service_state) = (SELECT inbox_id FROM inbox_file.receiver)
         AND (SELECT inbox_seq FROM mirror_state) >= coalesce((SELECT max(seq) FROM inbox), 0)`,
    )
      .pluck()
      .get() === 1
  );
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
