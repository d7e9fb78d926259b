/** Takes deliveries and notices from the log, by a durable consumer of this host's own. */
import { setTimeout as wait } from 'node:timers/promises';
import type { StreamPlace } from '../inbox/inbox-file.ts';
import type { Engine, Log, LogMessage } from './engine.ts';
import type { StreamInbox } from './stream-inbox.ts';

export type Place = Pick<StreamPlace, 'streamId' | 'streamSeq'>;

/** - `lost`: messages may be missing, and the consumer begins at the end. - `moved`: it begins after the place noted. */
export type Verdict = 'continue' | 'moved' | 'lost';

export function judgePlace({ streamId, streamSeq }: Place, log: Log): Verdict {
  // Killed before its first heartbeat, a new host has noted no place yet, but its consumer has it.
  if (streamId === null && log.consumer !== null) return 'continue';
  if (log.id !== streamId || log.firstSeq > streamSeq + 1 || log.lastSeq < streamSeq) return 'lost';
  return log.consumer === null ? 'moved' : 'continue';
}

interface ConsumerDeps {
  readonly inbox: Pick<StreamInbox, 'append' | 'metadata'>;
  readonly engine: Promise<Engine>;
  readonly now: () => number;
  readonly onLost: () => void;
  readonly onError: (error: unknown) => void;
}

const CHECK_EVERY_MS = 10_000;

export class Consumer {
  readonly #deps: ConsumerDeps;
  place: Place;
  /** Messages have been waiting since then; null if none is known to wait. */
  behindSinceMs: number | null;
  /** Everything that was in the log when this host started is here. */
  hasCaughtUp = false;

  constructor(deps: ConsumerDeps) {
    this.#deps = deps;
    const { streamId, streamSeq } = deps.inbox.metadata;
    this.place = { streamId, streamSeq };
    this.behindSinceMs = deps.now();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { onError } = this.#deps;
    const engine = await this.#deps.engine;
    let stop: (() => Promise<unknown>) | null = null;
    while (!signal.aborted) {
      try {
        await engine.prepare();
        const verdict = await this.#findPlace(engine, stop === null);
        if (verdict !== 'continue') {
          await stop?.();
          stop = null;
        }
        stop ??= await engine.consume(this.#name, (message) => void this.#take(message));
      } catch (error) {
        if (!signal.aborted) onError(error);
      }
      await wait(CHECK_EVERY_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
  }

  get #name(): string {
    return this.#deps.inbox.metadata.hostId;
  }

  async #findPlace(engine: Engine, isStart: boolean): Promise<Verdict> {
    const log = await engine.log(this.#name);
    const judged = judgePlace(this.place, log);
    // At a start, messages under way to the process before would come only after their ack wait, behind later ones.
    const verdict = judged === 'continue' && isStart ? 'moved' : judged;
    if (verdict === 'lost') {
      await engine.moveConsumer(this.#name, log.lastSeq + 1);
      this.place = { streamId: log.id, streamSeq: log.lastSeq };
      this.#deps.onLost();
    } else {
      // Its first read may not have been noted either.
      if (this.place.streamId === null) this.#deps.onLost();
      // At a start, the place noted: an inbox restored from a copy lacks what was acknowledged since.
      const isNoted = isStart && this.place.streamId !== null;
      // A consumer that has acknowledged nothing reports 0.
      const ackedSeq = isNoted ? 0 : (log.consumer?.ackedSeq ?? 0);
      const streamSeq = Math.max(this.place.streamSeq, ackedSeq);
      this.place = { streamId: log.id, streamSeq };
      if (verdict === 'moved') await engine.moveConsumer(this.#name, streamSeq + 1);
    }
    if (this.place.streamSeq >= log.lastSeq) this.#caughtUp();
    return verdict;
  }

  async #take({ subject, body, left, ack }: LogMessage): Promise<void> {
    const { inbox, now, onError } = this.#deps;
    if (left > 0) this.behindSinceMs ??= now();
    try {
      await inbox.append(subject === 'deliveries' ? 'delivery' : 'missed', body);
      ack();
      if (left === 0) this.#caughtUp();
    } catch (error) {
      this.behindSinceMs ??= now();
      // Without an acknowledgement it comes again.
      onError(error);
    }
  }

  #caughtUp(): void {
    this.behindSinceMs = null;
    this.hasCaughtUp = true;
  }
}
