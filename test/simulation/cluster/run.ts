/** One run of several machines: a plan carried out on the real code, and every promise held against it. */
import { compareWithTruth, missedVariants } from '../../../src/cli/demo/compare.ts';
import { openReaderOfBoth } from '../../../src/event-log/open-both.ts';
import { digestsOf } from '../../../src/mirror/file/projected.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { createRandom } from '../../../src/sandbox/world/random.ts';
import { createService, type SimulatedService } from '../../../src/sandbox/sandbox.ts';
import { OperationError } from '../../../src/sandbox/world/targets.ts';
import { prepared } from '../../../src/sqlite/prepared.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { bodyHash } from '../../../src/event-log/body-hash.ts';
import { present } from '../../shared/present.ts';
import { createCarriers } from '../carriers.ts';
import { operate } from '../deeds.ts';
import { installGlobals } from '../globals.ts';
import { Mail, PLAIN } from '../mail.ts';
import { StoreSide } from '../store-side.ts';
import { VirtualTime, WORLD, type Life } from '../virtual-time.ts';
import { EqualNumbers } from '../watch/equal-numbers.ts';
import { isSettled, openWork } from '../watch/open-work.ts';
import type { Cursor } from '../../../src/replication/nats/history.ts';
import { Broker } from '../../replication/simulated/broker.ts';
import { hostAtWork, Machine } from './machine.ts';
import type { ClusterDeed, ClusterPlan } from './plan.ts';
import { playScene, type Theatre } from './scenes.ts';

interface ClusterOutcome {
  /** What went wrong; empty when every promise held. */
  readonly faults: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly virtualMs: number;
  /** The same for the same plan and the same code. */
  readonly fingerprint: string;
}

interface RunOptions {
  readonly trace?: (line: string) => void;
}

const LOOK_EVERY_MS = 2_000;
const SYNC_EVERY_MS = 7_000;
const UP_TO_DATE_WITHIN_MS = 180_000;
const REST_WITHIN_MS = 30 * 60_000;
const SLOWEST_ANSWER_MS = 1_000;
/** A machine that is cut off for so long says so. */
const SAYS_SO_WITHIN_MS = 10_000;
/** An epoch in which numbers got two meanings. */
const ENDS_WITHIN_MS = 60_000;
const FAULTS_KEPT = 20;
const NOBODY = { life: null, request: () => Promise.resolve(null), effect: () => undefined };

export async function runClusterPlan(plan: ClusterPlan, options: RunOptions = {}): Promise<ClusterOutcome> {
  const time = new VirtualTime(plan.startMs);
  const globals = installGlobals(time, hostAtWork);
  const run = new ClusterRun(plan, time, options);
  try {
    return await run.all();
  } finally {
    run.end();
    globals.restore();
  }
}

class ClusterRun {
  readonly #plan: ClusterPlan;
  readonly #time: VirtualTime;
  readonly #options: RunOptions;
  readonly #faults: string[] = [];
  readonly #counts = new Map<string, number>();
  readonly #broker: Broker;
  readonly #service: SimulatedService;
  readonly #machines: readonly Machine[];
  readonly #mail: Mail;
  readonly #side: StoreSide;
  readonly #inFlight: () => number;
  readonly #numbers = new EqualNumbers((what) => this.#fault(what));
  /** By the body's hash, in hex. */
  readonly #answered = new Set<string>();
  /** Since when each machine is cut off. */
  readonly #cutSinceMs = new Map<Life, number>();
  #doubledSinceMs = 0;
  readonly #ends = new Map<string, () => void>();
  readonly #theatre: Theatre;
  #isOver = false;

  constructor(plan: ClusterPlan, time: VirtualTime, options: RunOptions) {
    this.#plan = plan;
    this.#time = time;
    this.#options = options;
    const stream = (label: string) => createRandom(plan.seed, label);
    this.#broker = new Broker(() => time.nowMs);
    this.#broker.onLoss = () => this.#numbers.engineLost();
    const balance = stream('balancer');
    const carriers = createCarriers({
      time,
      random: stream('carriers').next,
      machine: () => {
        const listening = this.#machines.filter(({ listens }) => listens);
        return listening.length === 0 ? NOBODY : balance.pick(listening);
      },
      service: () => this.#service,
      side: () => this.#side,
      isCut: () => false,
      dateAheadMs: 0,
      leavesOutWarehouses: false,
      onAnswered: ({ body }, status, ms) => {
        this.#count(`answered ${status}`);
        if (status === 204) this.#answered.add(bodyHash(body).toString('hex'));
        else if (status !== 503) this.#fault(`an authentic delivery was answered ${status}`);
        if (ms > SLOWEST_ANSWER_MS) this.#fault(`an answer took ${Math.round(ms)} ms`);
      },
      onCall: () => undefined,
    });
    this.#inFlight = carriers.inFlight;
    this.#mail = new Mail(
      time,
      carriers.transmitter,
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
      },
      this.#mail,
    );
    this.#service.network.intercept = (delivery) => this.#mail.route(delivery);
    this.#service.reads.latencyMs = { min: 0, max: plan.readLatencyMs };
    this.#side = new StoreSide(time, this.#service, () => false);
    const ground = {
      time,
      broker: this.#broker,
      random: stream('machines').next,
      trace: (line: string) => this.#trace(line),
      onFault: (what: string) => this.#fault(what),
      count: (what: string) => this.#count(what),
    };
    this.#machines = plan.machines.map(({ name, roles, wallOffsetMs }) => {
      const machine = new Machine(
        {
          name,
          roles,
          service: {
            baseUrl: 'http://service.invalid',
            clientId: this.#service.clientId,
            clientSecret: new Secret(this.#service.clientSecret),
            webhookSecrets: [new Secret(this.#service.webhookSecret)],
            maxConcurrency: 4,
            maxRps: 50,
          },
          schedules: {
            reconcileCron: null,
            resyncCron: null,
            timezone: 'UTC',
            readsPerHour: 600,
            longestUnreadMs: 168 * 3_600_000,
          },
          retentionDays: plan.retentionMs / 86_400_000,
          transport: carriers.transport,
          onOpen: (db, log) => this.#numbers.watch(name, db, log),
        },
        ground,
      );
      machine.wallOffsetMs = wallOffsetMs;
      machine.disk.onCommitted = (db) => this.#numbers.check(db);
      return machine;
    });
    this.#theatre = {
      time,
      service: this.#service,
      broker: this.#broker,
      side: this.#side,
      machines: this.#machines,
      ask: (machine, path, body) => this.#ask(machine, path, body),
      restart: (machine, downMs) => this.#restart(machine, downMs),
      replay: () => this.#mail.replay(1),
      isOver: () => this.#isOver,
    };
  }

  async all(): Promise<ClusterOutcome> {
    const plan = this.#plan;
    const time = this.#time;
    const onRejection = (error: unknown): void => this.#fault(`unhandled: ${describe(error)}`);
    process.on('unhandledRejection', onRejection);
    try {
      for (const machine of this.#machines) void machine.start();
      for (const { atMs, deed } of plan.steps) {
        time.at(plan.startMs + atMs, WORLD, () => {
          this.#trace(JSON.stringify(deed));
          this.#perform(deed);
        });
      }
      this.#look();
      this.#sync();
      await time.runUntil(plan.startMs + plan.activeMs, () => this.#faults.length > 0);
      if (this.#faults.length === 0) await this.#comeToRest();
      if (this.#faults.length === 0) this.#checkTheEnd();
    } finally {
      process.off('unhandledRejection', onRejection);
    }
    return {
      faults: this.#faults,
      counts: Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))),
      virtualMs: time.nowMs - plan.startMs,
      fingerprint: `${time.steps}/${time.nowMs}/${this.#broker.lastSeq}/${this.#answered.size}`,
    };
  }

  end(): void {
    for (const machine of this.#machines) {
      machine.kill();
      machine.disk.remove();
    }
  }

  get #replicas(): readonly Machine[] {
    return this.#machines.filter(({ isReplica }) => isReplica);
  }

  #perform(deed: ClusterDeed): void {
    const { reads } = this.#service;
    switch (deed.do) {
      case 'operation':
        this.#mail.nextFate = deed.fate;
        try {
          operate(this.#service, deed.what, deed);
        } catch (error) {
          if (!(error instanceof OperationError)) throw error;
        }
        this.#mail.nextFate = PLAIN;
        return;
      case 'scene':
        this.#count(`scene: ${deed.scene}`);
        playScene(this.#theatre, deed.scene, deed);
        return;
      case 'stale_reads': {
        const { probability, ageMs } = deed;
        this.#during('stale reads', deed.forMs, {
          begin: () => (reads.stale = { probability, ageMs }),
          end: () => (reads.stale = { probability: 0, ageMs }),
        });
        return;
      }
      case 'kill':
      case 'power_cut':
      case 'lose_mirror': {
        const machine = this.#machine(deed.machine);
        this.#count(deed.do);
        if (deed.do === 'kill') machine.kill();
        else if (deed.do === 'power_cut') machine.losePower();
        else {
          machine.loseMirror();
          this.#numbers.diskLost(machine.name);
        }
        this.#restart(machine, deed.downMs);
        return;
      }
      case 'stop': {
        const machine = this.#machine(deed.machine);
        this.#count('stop');
        void machine.stop().then(() => this.#restart(machine, deed.downMs));
        return;
      }
      case 'stand_still':
        this.#count('stand_still');
        this.#machine(deed.machine).standStill(deed.forMs);
        return;
      case 'stand_still_lead': {
        const lead = this.#machines.find(({ name }) => name === this.#broker.holder());
        if (lead === undefined) return;
        this.#count('the lead stands still');
        lead.standStill(deed.forMs);
        return;
      }
      case 'cut': {
        const machines = this.#some(deed.machine);
        this.#count(deed.machine === null ? 'no machine reaches the engine' : 'a machine is cut off');
        this.#during(`cut ${deed.machine}`, deed.forMs, {
          begin: () => machines.forEach(({ way }) => (way.isCut = true)),
          end: () => machines.forEach(({ way }) => (way.isCut = false)),
        });
        return;
      }
      case 'bad_way': {
        const machines = this.#some(deed.machine);
        const { lossShare, wayMs } = deed;
        this.#count('a bad way to the engine');
        this.#during(`way ${deed.machine}`, deed.forMs, {
          begin: () => machines.forEach(({ way }) => Object.assign(way, { lossShare, wayMs })),
          end: () => machines.forEach(({ way }) => Object.assign(way, { lossShare: 0, wayMs: 3 })),
        });
        return;
      }
      case 'slow_disk': {
        const machine = this.#machine(deed.machine);
        this.#during(`disk ${deed.machine}`, deed.forMs, {
          begin: () => (machine.slowCommitMs = deed.commitMs),
          end: () => (machine.slowCommitMs = 0),
        });
        return;
      }
      case 'clock':
        this.#count('a clock is set');
        this.#machine(deed.machine).wallOffsetMs += deed.byMs;
        return;
      case 'lose_tail':
        if (this.#broker.loseTail(deed.count) > 0) this.#count('the engine lost its end');
        return;
      case 'empty_engine':
        this.#count('the engine lost everything');
        this.#broker.empty();
        return;
      case 'prune':
        this.#count('asked to prune');
        this.#ask(this.#machine(deed.machine), '/api/prune', {});
        return;
      case 'resync':
        this.#ask(this.#machine(deed.machine), '/api/resync', {});
    }
  }

  #machine(index: number): Machine {
    return present(this.#machines[index % this.#machines.length]);
  }

  #some(index: number | null): readonly Machine[] {
    return index === null ? this.#machines : [this.#machine(index)];
  }

  /** A trouble of one kind at a time; a later one takes its place. */
  #during(
    kind: string,
    forMs: number,
    trouble: { readonly begin: () => void; readonly end: () => void },
  ): void {
    this.#ends.get(kind)?.();
    const end = (): void => trouble.end();
    trouble.begin();
    this.#ends.set(kind, end);
    this.#time.after(forMs, WORLD, () => {
      if (this.#ends.get(kind) !== end) return;
      this.#ends.delete(kind);
      end();
    });
  }

  #restart(machine: Machine, downMs: number): void {
    this.#time.after(downMs + 2, WORLD, () => void machine.start());
  }

  #ask(machine: Machine, path: string, body: unknown): void {
    machine.ask(path, body).catch((error: unknown) => this.#fault(`${path}: ${describe(error)}`));
  }

  async #comeToRest(): Promise<void> {
    this.#trace('quiet from here on');
    this.#isOver = true;
    for (const end of this.#ends.values()) end();
    this.#ends.clear();
    this.#side.forget();
    for (const { way } of this.#machines) way.isCut = false;
    await this.#waitFor('all machines to run', 120_000, () => {
      for (const machine of this.#machines) if (machine.life === null) void machine.start();
      return this.#machines.every(({ isRunning }) => isRunning);
    });
    await this.#settleWebhooks();
    await this.#waitFor('all to be level', UP_TO_DATE_WITHIN_MS, () => this.#whyUneven());
    await this.#waitFor('rest unaided', REST_WITHIN_MS, () => {
      const why = this.#whyUneven();
      if (why !== true) return why;
      return this.#read(present(this.#replicas[0]), (db) => isSettled(db, this.#time.nowMs));
    });
    if (this.#faults.length > 0) return;
    const { deliveries } = this.#service;
    if (missedVariants(deliveries).size === 0) {
      this.#count('every delivery was answered');
      this.#compare('at rest unaided');
    }
    // A person's word, by which all is read again.
    await this.#drive(present(this.#replicas.at(-1)).ask('/api/resync', { allow_removals: true }));
    await this.#pass(5_000);
    await this.#waitFor('rest', REST_WITHIN_MS, () => {
      const why = this.#whyUneven();
      return why !== true ? why : (this.#read(present(this.#replicas[0]), openWork) ?? true);
    });
    await this.#pass(10_000);
    await this.#waitFor('all to be level again', UP_TO_DATE_WITHIN_MS, () => this.#whyUneven());
  }

  /** @returns true when every machine has all that there is; why not, otherwise. */
  #whyUneven(): true | string {
    const { base, lastSeq, created } = this.#broker;
    if (base === null) return 'the engine has no history';
    for (const machine of this.#replicas) {
      const at = this.#read(machine, (db) => standingIn(db));
      if (at === null) return `${machine.name} has no mirror`;
      const doubled = this.#numbers.doubledIn(at.epoch);
      if (doubled !== null) return `${machine.name} is in an epoch that must end: ${doubled}`;
      const isUpToDate =
        at.cursor?.created === created && at.cursor.seq === lastSeq && at.cursor.baseAt === base.storedAt;
      if (!isUpToDate)
        return `${machine.name} is at ${JSON.stringify(at.cursor)}, the engine at ${lastSeq} of ${created}/${base.storedAt}`;
      if (at.appliedSeq < at.lastSeq) return `${machine.name} has yet to apply what it has`;
    }
    return true;
  }

  #checkTheEnd(): void {
    this.#compare('at the end');
    const [first, ...others] = this.#replicas;
    const digests = (machine: Machine): Map<string, string> =>
      this.#read(
        machine,
        (db) =>
          new Map([
            ...digestsOf(db),
            ['log', JSON.stringify(logOf(db))],
            ['standing', JSON.stringify(numbersIn(db))],
          ]),
      ) ?? new Map<string, string>();
    const expected = digests(present(first));
    for (const machine of others) {
      for (const [table, digest] of digests(machine)) {
        if (digest !== expected.get(table))
          this.#fault(`${machine.name} and ${present(first).name} differ in ${table}`);
      }
    }
    for (const machine of this.#replicas) this.#read(machine, (db) => this.#checkLog(machine.name, db));
    this.#count('histories', this.#broker.histories);
  }

  #checkLog(name: string, db: Db): void {
    const firstSeq = db.prepare<[], number>('SELECT min(seq) FROM log').pluck().get() ?? 0;
    const has = db.prepare<[Buffer], number>('SELECT seq FROM log WHERE body_hash = ?').pluck();
    for (const hex of this.#answered) {
      const isThere = has.get(Buffer.from(hex, 'hex')) !== undefined;
      const isPruned = firstSeq > 1 && this.#numbers.bodies.has(hex);
      if (!isThere && !isPruned) this.#fault(`an answered delivery is not in the log of ${name}: ${hex}`);
    }
    const pruned = db
      .prepare<[], number | null>(
        `SELECT max(CAST(payload AS TEXT) ->> '$.firstSeq') FROM log WHERE kind = 'pruned'`,
      )
      .pluck()
      .get();
    if (firstSeq < (pruned ?? 0))
      this.#fault(`${name} still has entry ${firstSeq}, and ${pruned} should be its first`);
    if ((pruned ?? 0) > 0) this.#count('pruned');
    const integrity = db.pragma('integrity_check', { simple: true });
    if (integrity !== 'ok') this.#fault(`integrity_check of ${name}: ${String(integrity)}`);
  }

  #compare(when: string): void {
    const missed = missedVariants(this.#service.deliveries);
    for (const { name, disk } of this.#replicas) {
      const { differences } = compareWithTruth(disk.databasePath, this.#service.truth, missed);
      if (differences.length > 0) this.#fault(`${when}, on ${name}: ${differences.slice(0, 4).join('; ')}`);
    }
  }

  async #settleWebhooks(): Promise<void> {
    let idle = false;
    void this.#service.network.flush().then(() => (idle = true));
    const quiet = (): boolean => idle && this.#inFlight() === 0 && this.#mail.waiting === 0;
    await this.#waitFor('the last webhook', 3 * 3_600_000, quiet);
  }

  /** @returns null while there is no mirror that could be read. */
  #read<T>({ disk }: Machine, read: (db: Db) => T): T | null {
    let db;
    try {
      db = openReaderOfBoth(disk.databasePath);
    } catch {
      return null;
    }
    try {
      return db.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'mirror_status'`).get() === undefined
        ? null
        : read(db);
    } finally {
      db.close();
    }
  }

  /** Whoever is cut off says so. */
  #look(): void {
    const { nowMs } = this.#time;
    for (const machine of this.#machines) {
      const { life } = machine;
      if (life === null) continue;
      const stoodStill = life.standsStillUntilMs > nowMs - SAYS_SO_WITHIN_MS;
      if (!machine.way.isCut || stoodStill) this.#cutSinceMs.delete(life);
      else if (!this.#cutSinceMs.has(life)) this.#cutSinceMs.set(life, nowMs);
      if (nowMs - (this.#cutSinceMs.get(life) ?? nowMs) > SAYS_SO_WITHIN_MS) void this.#checkSaysSo(machine);
    }
    this.#checkDoubled();
    this.#time.after(LOOK_EVERY_MS, WORLD, () => this.#look());
  }

  /** An epoch in which numbers got two meanings ends as soon as those who know them are there, and reach the engine. */
  #checkDoubled(): void {
    const { nowMs } = this.#time;
    const isCalm = this.#machines.every(
      ({ isRunning, life, way }) =>
        isRunning && !way.isCut && way.lossShare === 0 && (life?.standsStillUntilMs ?? 0) < nowMs,
    );
    const what = isCalm && this.#numbers.isAnyDoubled ? this.#whatIsDoubled() : undefined;
    if (what === undefined) {
      this.#doubledSinceMs = nowMs;
      return;
    }
    this.#count('looks at an epoch that must end');
    if (nowMs - this.#doubledSinceMs > ENDS_WITHIN_MS) this.#fault(`an epoch goes on in which ${what}`);
  }

  #whatIsDoubled(): string | undefined {
    const epochs = this.#replicas.map((machine) => this.#read(machine, (db) => standingIn(db).epoch) ?? '');
    return epochs.map((epoch) => this.#numbers.doubledIn(epoch)).find((found) => found !== null) ?? undefined;
  }

  async #checkSaysSo(machine: Machine): Promise<void> {
    const { life } = machine;
    const view = await machine.view();
    if (view === null || !machine.way.isCut || machine.life !== life) return;
    this.#count('a machine that is cut off says so');
    if (view.replica !== null && view.replica.trouble === null)
      this.#fault(`${machine.name} is cut off, and does not say so`);
    if (view.receiver !== null && view.receiver.backlog > 0 && view.receiver.trouble === null) {
      this.#fault(`${machine.name} cannot forward, and does not say so`);
    }
  }

  #sync(): void {
    for (const machine of this.#machines) machine.syncMirror();
    this.#time.after(SYNC_EVERY_MS, WORLD, () => this.#sync());
  }

  async #waitFor(what: string, ms: number, done: () => boolean | string | null): Promise<void> {
    const untilMs = this.#time.nowMs + ms;
    let found = done();
    while (found !== true && this.#time.nowMs < untilMs && this.#faults.length === 0) {
      await this.#pass(500);
      found = done();
    }
    if (found !== true && this.#faults.length === 0) {
      this.#fault(`waited in vain for ${what}${typeof found === 'string' ? `: ${found}` : ''}`);
    }
  }

  async #drive(work: Promise<unknown>): Promise<void> {
    let isOver = false;
    work.then(
      () => (isOver = true),
      (error: unknown) => this.#fault(describe(error)),
    );
    await this.#waitFor('an order to be carried out', 60_000, () => isOver);
  }

  async #pass(ms: number): Promise<void> {
    await this.#time.runUntil(this.#time.nowMs + ms, () => this.#faults.length > 0);
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

function standingIn(db: Db): {
  readonly epoch: string;
  readonly cursor: Cursor | null;
  readonly lastSeq: number;
  readonly appliedSeq: number;
} {
  const hasCursor =
    db.prepare(`SELECT 1 FROM event_log.sqlite_master WHERE name = 'copied_from'`).get() !== undefined;
  const cursor = hasCursor
    ? db.prepare<[], string>('SELECT cursor FROM copied_from').pluck().get()
    : undefined;
  const lastSeq = db.prepare<[], number | null>('SELECT max(seq) FROM log').pluck().get() ?? 0;
  const appliedSeq = prepared<[], number>(db, 'SELECT applied_seq FROM mirror_state').pluck().get() ?? 0;
  const epoch = db.prepare<[], string>('SELECT epoch FROM service_state').pluck().get() ?? '';
  return { epoch, cursor: JSON.parse(cursor ?? 'null') as Cursor | null, lastSeq, appliedSeq };
}

function numbersIn(db: Db): unknown {
  return db.prepare('SELECT s.epoch, m.applied_seq, m.change_seq FROM service_state s, mirror_state m').get();
}

function logOf(db: Db): unknown {
  return db
    .prepare('SELECT seq, kind, at_ms, hex(body_hash), length(payload) FROM log ORDER BY seq')
    .raw()
    .all();
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
