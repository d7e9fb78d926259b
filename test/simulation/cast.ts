/** All that takes part in a run: the store, the machines, the ways between them, and what watches them. */
import { createService, type SimulatedService } from '../../src/sandbox/sandbox.ts';
import type { Transmitter } from '../../src/sandbox/network/transmit.ts';
import type { Delivery } from '../../src/sandbox/network/webhooks.ts';
import { createRandom } from '../../src/sandbox/world/random.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { present } from '../shared/present.ts';
import { createPerformer, type Stage } from './actions.ts';
import { createCarriers, type WebhookAnswer } from './carriers.ts';
import { Fleet } from './fleet.ts';
import type { installGlobals } from './globals.ts';
import type { EpochClocks } from './journal.ts';
import { Lives } from './lives.ts';
import { Machine } from './machine.ts';
import { Mail } from './mail.ts';
import { isAskedFor, Observer, oldestDue } from './observer.ts';
import type { Plan } from './plan.ts';
import { Proxy } from './proxy.ts';
import type { Report } from './report.ts';
import { Secrets } from './secrets.ts';
import { StoreSide } from './store-side.ts';
import { Strangers } from './strangers.ts';
import { Undisturbed } from './undisturbed.ts';
import { WORLD, type VirtualTime } from './virtual-time.ts';
import { Waiting } from './waiting.ts';
import { Answered } from './watch/answered.ts';
import { Calls } from './watch/calls.ts';
import { Calm } from './watch/calm.ts';
import { Consumer } from './watch/consumer.ts';
import { Delivered } from './watch/delivered.ts';
import { GuardWatch } from './watch/guard.ts';
import { Probed } from './watch/probed.ts';
import { Promises, type Gone } from './watch/promises.ts';
import { Seen } from './watch/seen.ts';
import { Trusted } from './watch/trusted.ts';
import { WayInWatch } from './watch/way-in.ts';

interface CastOptions {
  readonly plan: Plan;
  readonly time: VirtualTime;
  readonly globals: ReturnType<typeof installGlobals>;
  readonly report: Report;
}

type Carriers = Parameters<typeof createCarriers>[0];
type Ways = Omit<Carriers, 'random' | 'machine'>;
type Host = Omit<
  ConstructorParameters<typeof Machine>[0],
  'role' | 'random' | 'transport' | 'log' | 'onOpen' | 'onEnded'
>;

const SLOWEST_ANSWER_MS = 1_000;
const FAIR_AGE_MS = 20 * 60_000;
/** What the store says too late, wrongly or not at all: a movement need not show. */
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

/** Wrong quantities, and not only late ones. */
const LYING = ['no_warehouses', 'listed_twice', 'hidden_warehouse'].map((fault) => `reads: ${fault}`);

/** A list may have left out a product that the store has now. */
const RETURNING = [
  ...['operation: restore_product', 'scene: overlapping_absence', 'reads: empty_list', 'reads: nonsense'],
  "mirror's clock set back",
];

export class Cast {
  readonly plan: Plan;
  readonly time: VirtualTime;
  readonly report: Report;
  readonly waiting: Waiting;
  readonly service: SimulatedService;
  /** Runs the mirror, and the receiver unless that is a process of its own. */
  readonly machine: Machine;
  readonly receiver: Machine;
  readonly fleet: Fleet | null;
  readonly mail: Mail;
  readonly stage: Stage;
  readonly performer: ReturnType<typeof createPerformer>;
  readonly inFlight: () => number;
  readonly observer = new Observer(() => this.machine.disk.databasePath);
  /** From a restored or lost file until the inbox is applied. */
  isHealing = false;

  readonly answered: Answered;
  readonly consumer: Consumer;
  readonly guard: GuardWatch;
  readonly promises: Promises;
  readonly calls: Calls;
  /** Watches a story in which only changes and strangers happen. */
  readonly calm: Calm | null;
  readonly seen: Seen;
  readonly delivered: Delivered;
  readonly trusted: Trusted;
  readonly wayIn: WayInWatch;
  readonly probed: Probed;
  readonly undisturbed: Undisturbed;
  readonly proxy: Proxy;
  readonly #strangers: Strangers;
  readonly #side: StoreSide;
  readonly #globals: ReturnType<typeof installGlobals>;

  constructor({ plan, time, globals, report }: CastOptions) {
    this.plan = plan;
    this.time = time;
    this.report = report;
    this.waiting = new Waiting(time, report);
    this.#globals = globals;
    const { fault } = report;
    this.answered = new Answered(fault);
    this.consumer = new Consumer(fault);
    this.guard = new GuardWatch(fault);
    this.seen = new Seen(fault, () => time.nowMs, !plan.leavesOutWarehouses);
    const nowMs = (): number => time.nowMs;
    this.undisturbed = new Undisturbed(nowMs);
    this.calm = plan.isCalm ? new Calm({ fault, nowMs, service: () => this.service }) : null;
    this.trusted = new Trusted({
      fault,
      nowMs,
      verifyWithinMs: () => this.#verifyWithinMs(),
      hasStream: plan.kind === 'stream',
    });
    this.wayIn = new WayInWatch({
      fault,
      nowMs,
      service: () => this.service,
      isOnItsWay: () => !this.isDrained(),
      isLying: () => LYING.some((what) => report.has(what)),
      undisturbedMs: () => this.undisturbed.forMs,
      onBarrier: (atMs) => {
        this.trusted.showsUntil(atMs);
        this.probed.explained();
      },
      count: report.count,
    });
    this.probed = new Probed({
      fault,
      nowMs,
      service: () => this.service,
      wayIn: this.wayIn,
      maxRps: () => this.machine.settings.maxRps,
      undisturbedMs: () => this.undisturbed.forMs,
    });
    this.promises = new Promises(
      fault,
      (db, gone) => {
        this.guard.removed(db, gone);
        this.#checkDeleted(gone);
      },
      (productId, sentAtMs) => {
        const sighting = this.seen.merged(productId, sentAtMs);
        if (sighting !== null) this.probed.merged(productId, sighting);
      },
    );
    this.calls = new Calls(fault, (productId, detail) => {
      this.promises.sawDetail(productId, detail);
      const { sampledAtMs, sentAtMs, isTrue } = detail;
      this.seen.answered({ productId, sentAtMs, sampledAtMs, isTrue });
    });
    this.delivered = new Delivered(
      fault,
      () => plan.dateAheadMs > 0 && report.has("service's clock set forward"),
    );

    const ways = this.#ways();
    const carriers = createCarriers({
      ...ways,
      random: this.#random('carriers'),
      machine: () => this.machine,
    });
    const fleet = plan.kind === 'stream' ? this.#openFleet() : null;
    this.fleet = fleet;
    const incoming = createCarriers({
      ...ways,
      random: this.#random('incoming'),
      machine: () => fleet?.next() ?? this.receiver,
    });
    this.inFlight = incoming.inFlight;
    this.proxy = new Proxy({
      time,
      random: this.#random('proxy'),
      carrier: fleet === null ? incoming.transmitter : this.#noticingLosses(incoming.transmitter),
      sendOtherProtocol: () =>
        incoming.sendUnread({ reason: 'wrong_protocol', status: 400, seen: 'the PROXY protocol' }),
      onSpoilt: ({ items }) => this.delivered.lost(items),
    });
    this.#strangers = new Strangers({
      time,
      random: this.#random('strangers'),
      service: () => this.service,
      carrier: incoming.transmitter,
      sendUnread: incoming.sendUnread,
      count: report.count,
    });
    this.mail = new Mail(time, this.proxy, () => this.service.webhookSecret, report.count);
    this.service = this.#openService();
    this.#side = new StoreSide(time, this.service, () => this.stage.mistakes.size > 0);
    const host = this.#host();
    if (fleet !== null) this.#openHosts(fleet, host, ways);
    this.machine = new Machine({
      ...host,
      role: plan.isSplit ? 'mirror' : 'both',
      ...fleet?.watched(() => globals.wallOffsetMs),
      random: this.#random('machine'),
      transport: carriers.transport,
      log: (line) => report.trace(`mirror: ${line}`),
      onOpen: ({ db }, epoch) => {
        this.promises.watch(db, this.machine.disk.journal.db);
        this.wayIn.opened(db, this.machine.disk.journal.db);
        if (epoch !== null) this.#onNewEpoch(db, epoch);
      },
      onEnded: () => this.calls.died(),
      onFailure: plan.kind === 'lives' ? () => this.stage.lives.failed(this.machine) : null,
    });
    this.receiver = plan.isSplit
      ? new Machine({
          ...host,
          role: 'receiver',
          disk: this.machine.disk,
          random: this.#random('receiver'),
          transport: carriers.transport,
          log: (line) => report.trace(`receiver: ${line}`),
          onOpen: () => undefined,
          onEnded: () => undefined,
          onFailure: () => this.stage.lives.failed(this.receiver),
        })
      : this.machine;
    this.machine.disk.onFault = fault;
    this.machine.disk.onCommitted = (db) => {
      this.promises.check(db);
      this.wayIn.committed(db);
    };
    this.stage = this.#openStage();
    this.performer = createPerformer(this.stage);
  }

  get machines(): ReadonlySet<Machine> {
    return new Set([this.receiver, this.machine]);
  }

  /** Something disturbs the mirror now, other than changes, losses, and what strangers and proxies do. */
  isDisturbed(): boolean {
    if (this.fleet !== null || this.stage.isCut || this.performer.isDisturbing()) return true;
    return [...this.machines].some(
      ({ isRunning, isSuspended, life }) =>
        !isRunning || isSuspended || (life !== null && life.standsStillUntilMs > this.time.nowMs),
    );
  }

  /** No program reads the file while its machine is suspended or off; another one compares its heartbeat with the wall clock. */
  canTellWhetherItRuns(): boolean {
    return !this.isAsleep() && !this.stage.lives.isClockBackWhileDown;
  }

  isAsleep(): boolean {
    return this.machine.isSuspended || this.stage.lives.isMachineOff;
  }

  /** Every answered delivery is in the mirror's inbox. */
  isDrained(): boolean {
    return this.fleet?.isDrained(this.machine.disk) ?? true;
  }

  checkMoved(db: Db): void {
    const isHiding = HIDING.some((what) => this.report.has(what));
    if (!isHiding && this.plan.nodeSkewMs === 0) this.delivered.checkMoved(db, this.service, this.time.nowMs);
  }

  /** A product goes only when a list leaves it out, whatever its reads were answered. */
  #checkDeleted({ what, product_id: productId }: Gone): void {
    if (what !== 'product' || productId === null || this.guard.isAllowed) return;
    if (RETURNING.some((deed) => this.report.has(deed))) return;
    const product = this.service.truth.product(productId);
    if (product === undefined) return;
    this.report.fault(`product ${productId} was removed, although each list named it`);
  }

  /** @param keepAt a folder for the files of the mirror. */
  end(keepAt: string | undefined): void {
    const { disk } = this.machine;
    this.observer.close();
    this.stage.lives.end();
    this.fleet?.end();
    for (const machine of this.machines) machine.kill();
    disk.closeAll();
    if (keepAt !== undefined) disk.keepAt(keepAt);
    disk.remove();
  }

  #random(label: string): () => number {
    return createRandom(this.plan.seed, label).next;
  }

  #ways(): Ways {
    const { time, plan } = this;
    return {
      time,
      service: () => this.service,
      side: () => this.#side,
      isCut: () => this.stage.isCut,
      dateAheadMs: plan.dateAheadMs,
      leavesOutWarehouses: plan.leavesOutWarehouses,
      onReached: (delivery, isAuthentic) => {
        if (!isAuthentic) {
          this.delivered.lost(delivery.items);
          return;
        }
        if (this.fleet === null) this.trusted.reached(delivery.items);
        this.delivered.reached(delivery);
      },
      onAnswered: (answer) => {
        const { delivery, by, status } = answer;
        if (status === 204) {
          this.delivered.answered(delivery.items);
          // What a receiver that fails does not answer is lost, as long as another one listens.
          const reached = (): void => this.trusted.reached(delivery.items);
          if (this.fleet === null) reached();
          else this.fleet.onceKnown(by, reached);
        }
        this.#forProductsOf(delivery.items, (productId) => this.seen.delivered(productId));
        const misleading = delivery.items.filter((item) => this.delivered.passesForLast(item));
        this.#forProductsOf(misleading, (productId) => this.seen.forget(productId));
        this.#onAnswered(answer);
      },
      onCall: (call) => this.calls.onCall(call, (productId) => this.#oldestDue(productId)),
    };
  }

  #openService(): SimulatedService {
    const { plan, time } = this;
    const service = createService(
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
      this.mail,
    );
    service.clock.nodeSkewMs = plan.nodeSkewMs;
    service.reads.latencyMs = { min: 0, max: plan.readLatencyMs };
    service.network.intercept = (delivery) => {
      this.delivered.happened(delivery.items);
      this.trusted.happened(delivery.items);
      this.wayIn.happened(delivery.items);
      this.calm?.happened(delivery.items);
      this.#forProductsOf(delivery.items, (productId) => this.seen.touched(productId));
      const isReadable = this.mail.nextFate.mangling !== 'broken_json';
      const verdict = this.mail.route(delivery);
      if (verdict === 'lose' || !isReadable) this.delivered.lost(delivery.items);
      return verdict;
    };
    return service;
  }

  #host(): Host {
    const { plan, time, service } = this;
    return {
      time,
      globals: this.#globals,
      credentials: {
        clientId: service.clientId,
        clientSecret: service.clientSecret,
        webhookSecrets: [service.webhookSecret] as const,
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
      onFault: this.report.fault,
    };
  }

  #openHosts(fleet: Fleet, host: Host, ways: Ways): void {
    fleet.open((at) => {
      const { transport } = createCarriers({
        ...ways,
        random: this.#random(`host ${at}`),
        machine: () => present(fleet.receivers[at]),
        onCall: () => undefined,
      });
      return {
        ...host,
        random: this.#random(`receiver ${at}`),
        transport,
        log: (line) => this.report.trace(`host ${at}: ${line}`),
        onOpen: () => undefined,
        onEnded: () => undefined,
      };
    });
  }

  #openStage(): Stage {
    const { time, report, calls } = this;
    const stage: Stage = {
      time,
      globals: this.#globals,
      // The name belongs to the seeds: another one would draw other stories.
      random: this.#random('deeds'),
      service: this.service,
      machine: this.machine,
      receiver: this.receiver,
      lives: this.#openLives(),
      proxy: this.proxy,
      strangers: this.#strangers,
      secrets: new Secrets(this.service, this.machines),
      undisturbed: this.undisturbed,
      mail: this.mail,
      count: report.count,
      readLatencyMs: this.plan.readLatencyMs,
      onWord: () => calls.wordSent(),
      onWordAnswered: () => calls.wordAnswered(),
      side: this.#side,
      onTouched: (productId) => this.#onTouched(productId),
      onBackUp: () => {
        const files = this.machine.disk.backUp();
        if (files === null) return;
        stage.backup = { files, atMs: time.nowMs };
        this.answered.backUp();
      },
      onRestore: (restore, of) => {
        this.#replaceFiles(restore);
        if (of !== 'inbox') return;
        this.answered.restore();
        this.delivered.restore();
      },
      mistakes: new Map(),
      isCut: false,
      backup: null,
    };
    return stage;
  }

  #openLives(): Lives {
    return new Lives({
      time: this.time,
      globals: this.#globals,
      receiver: this.receiver,
      mirror: this.machine,
      service: this.service,
      socketRoom: this.plan.socketRoom,
      count: this.report.count,
      onCopy: () => this.answered.backUp(),
      onFiles: (change, { of, isCopy }) => {
        this.#replaceFiles(change);
        if (!of.includes('inbox')) return;
        if (isCopy) this.answered.restore();
        else this.answered.lose(this.receiver.life, this.time.nowMs);
        this.delivered.restore();
      },
    });
  }

  #replaceFiles(change: () => void): void {
    this.observer.close();
    change();
    this.isHealing = true;
    this.seen.restore();
    this.wayIn.replaced();
  }

  #openFleet(): Fleet {
    const { seed, startMs, activeMs } = this.plan;
    return new Fleet({
      time: this.time,
      seed,
      untilMs: startMs + activeMs,
      count: this.report.count,
      watched: () => this.machine,
      onLost: (hashes) => {
        this.answered.excuse(hashes);
        this.delivered.excuse(hashes);
      },
    });
  }

  /** While another receiver listens, no downtime follows a delivery that a dying one did not answer. */
  #noticingLosses(transmitter: Transmitter): Transmitter {
    return {
      ...transmitter,
      transmit: async (delivery, url) => {
        const outcome = await transmitter.transmit(delivery, url);
        if (outcome.outcome !== 'answered') this.delivered.lost(delivery.items);
        return outcome;
      },
    };
  }

  #onNewEpoch(mirror: Db, clocks: EpochClocks): void {
    this.observer.close();
    this.promises.onNewEpoch(clocks);
    this.guard.restore();
    this.delivered.onNewEpoch(this.machine.disk.bodiesBefore(mirror));
    this.seen.restore();
  }

  #onAnswered({ delivery, status, ms, isAuthentic }: WebhookAnswer): void {
    const { report, receiver, time } = this;
    report.count(`answered ${status}`);
    const shown = Buffer.from(delivery.body).toString('utf8').slice(15, 40);
    report.trace(`webhook answered ${status} after ${Math.round(ms)} ms: ${shown}`);
    // The receiver's thread answers nothing while it waits for the disk.
    if (ms > SLOWEST_ANSWER_MS + receiver.slowestCommitMs)
      report.fault(`an answer took ${Math.round(ms)} ms`);
    if (!isAuthentic) {
      if (status < 400 || status >= 500) report.fault(`a request that nobody signed was answered ${status}`);
      this.wayIn.refused(delivery);
      return;
    }
    this.wayIn.answered(delivery, status, time.nowMs - ms);
    if (status === 204) this.answered.add(delivery, receiver.life, time.nowMs);
    else if (status !== 503) report.fault(`an authentic delivery was answered ${status}`);
  }

  #verifyWithinMs(): number | null {
    const { reconcileCron, verifyWithinHours } = this.machine.settings;
    return reconcileCron === null ? null : verifyWithinHours * 3_600_000;
  }

  #oldestDue(productId: string): string[] | null {
    const db = this.observer.open();
    if (db === null) return [];
    const oldest = oldestDue(db, FAIR_AGE_MS);
    return oldest.includes(productId) || isAskedFor(db, productId) ? oldest : null;
  }

  #forProductsOf(items: Delivery['items'], action: (productId: string) => void): void {
    for (const { id } of items) {
      const variant = this.service.truth.variant(id);
      if (variant === undefined) continue;
      action(variant.product.id);
      for (const bundle of variant.bundledBy) action(bundle.product.id);
    }
  }

  #onTouched(productId: string | null): void {
    this.trusted.catalogueChanged(this.service);
    for (const { id, variants } of this.service.truth.products) {
      if (productId !== null && productId !== id) continue;
      this.seen.touched(id);
      for (const { bundledBy } of variants)
        for (const { product } of bundledBy) this.seen.touched(product.id);
    }
  }
}
