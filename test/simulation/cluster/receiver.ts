/** A machine that takes deliveries into its outbox, answers, and forwards them: the real intake, outbox and forwarder. */
import { createClock } from '../../../src/app/clock.ts';
import { serveEventLog } from '../../../src/event-log/append-loop.ts';
import { encodeEntry, type NewEntry } from '../../../src/event-log/entries.ts';
import { eventLogPath, openLogForReading } from '../../../src/event-log/open-log.ts';
import { LogClient } from '../../../src/event-log/log-client.ts';
import { openOutbox } from '../../../src/event-log/outbox.ts';
import { LogReader } from '../../../src/event-log/read-log.ts';
import { createIntakeApp } from '../../../src/intake/app.ts';
import { createHeartbeat } from '../../../src/intake/heartbeat.ts';
import { keepUnstored } from '../../../src/intake/unstored.ts';
import { Forwarder } from '../../../src/replication/forwarder.ts';
import { Disk } from '../disk.ts';
import { startFakeThread } from '../fake-thread.ts';
import { incomingOf } from '../incoming.ts';
import { within, WORLD, type Life } from '../virtual-time.ts';
import { Host, type Ground, type Program } from './host.ts';

type Fetch = (request: Request, bindings: unknown) => Response | Promise<Response>;

export class Receiver extends Host {
  readonly #secret: () => string;
  #fetch: Fetch | null = null;
  #forwarder: Forwarder | null = null;

  constructor(name: string, ground: Ground, secret: () => string) {
    super(name, new Disk((path) => openOutbox(eventLogPath(path))), ground);
    this.#secret = secret;
  }

  /** Answered, and not known to be in the common order. Null: nobody forwards. */
  get backlog(): number | null {
    return this.#forwarder?.backlog.entries ?? null;
  }

  get listens(): boolean {
    return this.#fetch !== null;
  }

  /** Nothing may happen in between that only a machine of the other simulation counts. */
  effect(): void {
    // A kill between two effects is drawn as a kill at an instant.
  }

  /** What a delivery is answered; null when nobody listens, or the process dies over it. */
  async request(_: 'webhook' | 'ops', request: Request, body: Uint8Array): Promise<Response | null> {
    const { life } = this;
    const { time } = this.ground;
    const fetch = this.#fetch;
    if (life === null || fetch === null) return null;
    if (life.standsStillUntilMs > time.nowMs) await time.sleep(life.standsStillUntilMs - time.nowMs, WORLD);
    if (!life.alive) return null;
    const incoming = incomingOf(request, body);
    const answer = await Promise.race([within(life, () => fetch(request, { incoming })), life.death]);
    return answer === undefined || !life.alive ? null : answer;
  }

  protected override ended(): void {
    this.#fetch = null;
    this.#forwarder = null;
  }

  protected async run(life: Life): Promise<Program> {
    const { time } = this.ground;
    const log = this.logOf(life);
    let forwarder: Forwarder | null = null;
    const outbox = await LogClient.open(
      startFakeThread(time, life, this.pace(), (owner) =>
        serveEventLog(owner, () => this.disk.openLog(() => life.alive)),
      ),
      {
        onDeath: (error) => this.ground.onFault(`${this.name}: the outbox died: ${error.message}`),
        onNews: () => undefined,
        onAppended: () => forwarder?.wake(),
      },
    );
    const clock = createClock(Math.max(outbox.life.aliveAtMs ?? 0, outbox.life.lastAtMs ?? 0));
    const now = clock.now;
    const readDb = openLogForReading(this.disk.logPath);
    this.disk.held(() => readDb.close());
    forwarder = new Forwarder({
      outbox,
      reader: new LogReader(readDb),
      engine: this.engineOf(life),
      log,
      now,
    });
    this.#forwarder = forwarder;
    const forwarding = forwarder.run();
    forwarding.catch((error: unknown) =>
      this.ground.onFault(`${this.name}: forwarding ended: ${String(error)}`),
    );
    const append = async (entry: NewEntry) => {
      const { seq } = await outbox.appendEntry(encodeEntry(entry));
      return { seq, facts: [] };
    };
    const unstored = keepUnstored({ writer: { append }, now, log });
    const heartbeat = createHeartbeat(
      { beat: (atMs) => outbox.beat(atMs), show: () => Promise.resolve() },
      Date.now,
    );
    heartbeat.begin();
    const intake = createIntakeApp({
      writer: outbox,
      unstored,
      secrets: [this.#secret()],
      now,
      heartbeat,
      observer: { committed: () => undefined, refused: () => undefined },
      log,
    });
    this.#fetch = intake.fetch as Fetch;
    const running = forwarder;
    return {
      stop: async () => {
        this.#fetch = null;
        await unstored.stop();
        await heartbeat.stop();
        running.stop();
        await forwarding;
        await outbox.close();
      },
    };
  }
}
