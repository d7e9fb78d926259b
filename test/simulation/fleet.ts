/** Hosts that only receive, and the stream between them and the watched mirror. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRandom } from '../../src/sandbox/world/random.ts';
// Loaded before a host asks for it: loading takes no virtual time.
import '../../src/ops/receiver-app.ts';
import type { Engine } from '../../src/stream/engine.ts';
import { readHeartbeat } from '../../src/stream/heartbeat.ts';
import { MemoryServers } from '../stream/memory-engine.ts';
import { present } from '../shared/present.ts';
import type { Disk } from './disk.ts';
import { Machine, type MachineOptions } from './machine.ts';
import { WORLD, type Life, type VirtualTime } from './virtual-time.ts';

interface FleetOptions {
  readonly time: VirtualTime;
  readonly seed: number;
  readonly untilMs: number;
  readonly count: (what: string) => void;
  readonly watched: () => Machine;
  /** Answered deliveries are lost with the disk of a receiver; their hashes. */
  readonly onLost: (hashes: readonly string[]) => void;
}

type Random = ReturnType<typeof createRandom>;

const RECEIVERS = 3;
const MIRRORS = 2;
/** The watched mirror's place among the hosts that can be cut off. */
const WATCHED = -1;
const TROUBLE_EVERY_MS = { min: 4_000, max: 20_000 };
/** As in deploy/several-machines/haproxy.cfg. */
const CHECK_EVERY_MS = 1_000;
const FAST_CHECK_MS = 200;
const FALL = 2;
const KNOWN_EVERY_MS = 500;
/** After the disk of a receiver is lost, until every mirror knows. */
const LOSS_UNKNOWN_MS = 12_000;

export class Fleet {
  readonly #options: FleetOptions;
  readonly #random: Random;
  readonly #ways: Random;
  readonly servers: MemoryServers;
  readonly receivers: Machine[] = [];
  readonly #cut = new Set<number>();
  /** Failed checks in a row. */
  readonly #failedChecks = new Map<Machine, number>();
  #lossKnownAtMs = 0;
  #hasBegun = false;
  #isCalm = false;
  #turn = 0;

  constructor(options: FleetOptions) {
    const { seed } = options;
    this.#options = options;
    this.#random = createRandom(seed, 'fleet');
    this.#ways = createRandom(seed, 'ways');
    this.servers = new MemoryServers({ travel: () => this.#travel() });
  }

  #connect(life: Life, host: number): Promise<Engine> {
    const { time } = this.#options;
    const engine = this.servers.connect(async () => {
      // A dead process sends nothing more.
      if (!life.alive) await new Promise(() => undefined);
      if (life.standsStillUntilMs > time.nowMs) await time.sleep(life.standsStillUntilMs - time.nowMs);
      if (this.#cut.has(host)) throw new Error('cut off');
    }, host);
    return Promise.resolve({
      ...engine,
      hear: (listener) => engine.hear(AsyncLocalStorage.bind(listener)),
    });
  }

  /** @param optionsOf the host's own options. */
  open(optionsOf: (at: number) => Omit<MachineOptions, 'stream' | 'role'>): void {
    for (let at = 0; at < RECEIVERS; at += 1) {
      const wallOffsetMs = this.#random.int(-5_000, 5_000);
      const role = at === 0 ? ('both' as const) : ('receiver' as const);
      const stream = {
        connect: (life: Life) => this.#connect(life, at),
        wallOffsetMs: () => wallOffsetMs,
      };
      this.receivers.push(new Machine({ ...optionsOf(at), role, stream }));
    }
  }

  /** The part of the watched mirror. */
  watched(wallOffsetMs: () => number): Pick<MachineOptions, 'stream' | 'role'> {
    return { role: 'mirror', stream: { connect: (life) => this.#connect(life, WATCHED), wallOffsetMs } };
  }

  /** The balancer's choice. */
  next(): Machine {
    this.#turn += 1;
    if (!this.#hasBegun) return present(this.receivers.at(-1));
    const open = this.receivers.filter(({ isRunning }) => isRunning);
    const healthy = open.filter((receiver) => (this.#failedChecks.get(receiver) ?? 0) < FALL);
    const among = [healthy, open, this.receivers].find((some) => some.length > 0) ?? [];
    return present(among[this.#turn % among.length]);
  }

  /**
   * Calls it once the mirrors can know of the host, at once as a rule. A balancer that has no healthy receiver uses also one
   * that has not been heard since it started for the first time, or left.
   */
  onceKnown(disk: Disk, action: () => void): void {
    const { hostId } = disk;
    const again = (): void => {
      const last = this.servers.last.get(`heartbeat.${hostId}`);
      if (last !== undefined && !readHeartbeat(last.body).is_gone) action();
      else this.#later(KNOWN_EVERY_MS, again);
    };
    again();
  }

  /** The balancer asks each receiver whether it is healthy. */
  #checkAgain(receiver: Machine): void {
    const { time } = this.#options;
    const request = new Request('http://127.0.0.1/healthz');
    const answered = receiver.request('webhook', request, new Uint8Array()).catch(() => null);
    const late = time.sleep(CHECK_EVERY_MS).then(() => null);
    void Promise.race([answered, late]).then((answer) => {
      const isHealthy = answer?.response.status === 200;
      const failed = isHealthy ? 0 : (this.#failedChecks.get(receiver) ?? 0) + 1;
      this.#failedChecks.set(receiver, failed);
      if (failed === FALL) this.#options.count('stream: the balancer leaves a receiver');
      this.#later(failed === 1 ? FAST_CHECK_MS : CHECK_EVERY_MS, () => this.#checkAgain(receiver));
    });
  }

  /**
   * A new mirror takes no delivery from before its first connection: the others start once both mirrors have
   * theirs.
   */
  begin(): void {
    const [second, ...others] = this.receivers;
    void present(second).start();
    const beginOthers = (): void => {
      if (this.servers.readers.size < MIRRORS) return this.#later(100, beginOthers);
      for (const other of others) void other.start();
      this.#hasBegun = true;
      for (const receiver of this.receivers) this.#checkAgain(receiver);
      this.#troubleAgain();
    };
    beginOthers();
  }

  calm(): void {
    this.#isCalm = true;
    this.servers.isAway = false;
    this.#cut.clear();
  }

  end(): void {
    for (const receiver of this.receivers) {
      receiver.kill();
      receiver.disk.remove();
    }
  }

  /** Everything that the receivers have answered is in the log, and in the inbox of every mirror. */
  isDrained(watched: Disk): boolean {
    if (this.#options.time.nowMs < this.#lossKnownAtMs) return false;
    const mirrors = [watched, ...this.receivers.slice(0, MIRRORS - 1).map(({ disk }) => disk)];
    return (
      this.receivers.every((receiver) => receiver.isRunning && receiver.disk.isPublished) &&
      mirrors.every(({ streamSeq }) => streamSeq >= this.servers.lastSeq)
    );
  }

  async #travel(): Promise<void> {
    const isSlow = this.#ways.chance(0.05);
    await this.#options.time.sleep(this.#ways.int(1, isSlow ? 1_500 : 15));
    if (!this.#isCalm && this.#ways.chance(0.01)) throw new Error('lost on its way');
  }

  #troubleAgain(): void {
    const { time, untilMs } = this.#options;
    time.after(this.#random.int(TROUBLE_EVERY_MS.min, TROUBLE_EVERY_MS.max), WORLD, () => {
      if (this.#isCalm || time.nowMs > untilMs) return;
      this.#trouble();
      this.#troubleAgain();
    });
  }

  #trouble(): void {
    const random = this.#random;
    const at = random.int(0, this.receivers.length - 1);
    const receiver = present(this.receivers[at]);
    const what = random.pick([
      'kill',
      'lose',
      'stop',
      'stand still',
      'watched stands still',
      'engine away',
      'cut',
      'forget ids',
      'all killed',
    ] as const);
    this.#options.count(`stream: ${what}`);
    switch (what) {
      case 'kill':
        receiver.kill();
        this.#later(random.int(200, 15_000), () => void receiver.start());
        return;
      case 'lose':
        // A mirror that lost its disk would not have earlier deliveries.
        if (at === 0 || !receiver.isRunning) return;
        receiver.kill();
        this.#later(100, () => this.#lose(receiver));
        this.#later(random.int(200, 15_000), () => void receiver.start());
        return;
      case 'stop':
        void receiver.stop().then(() => this.#later(random.int(200, 15_000), () => void receiver.start()));
        return;
      case 'all killed':
        for (const each of this.receivers) each.kill();
        for (const each of this.receivers) this.#later(random.int(200, 15_000), () => void each.start());
        return;
      case 'stand still':
        receiver.standStill(random.int(500, 20_000));
        return;
      case 'watched stands still':
        this.#options.watched().standStill(random.int(500, 20_000));
        return;
      case 'engine away':
        this.servers.isAway = true;
        this.#later(random.int(2_000, 180_000), () => (this.servers.isAway = false));
        return;
      case 'cut': {
        const host = random.int(WATCHED, this.receivers.length - 1);
        this.#cut.add(host);
        this.#later(random.int(1_000, 60_000), () => this.#cut.delete(host));
        return;
      }
      case 'forget ids':
        this.servers.forgetIds();
    }
  }

  #lose(receiver: Machine): void {
    if (receiver.life !== null) return;
    this.#options.onLost(receiver.disk.unpublished);
    receiver.disk.lose('inbox');
    this.#lossKnownAtMs = this.#options.time.nowMs + LOSS_UNKNOWN_MS;
  }

  #later(ms: number, action: () => void): void {
    this.#options.time.after(ms, WORLD, action);
  }
}
