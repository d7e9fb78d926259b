/**
 * Collects the facts behind the state, decides it once a second, and writes it with the heartbeat. Every face shows what
 * the mirror's file says; while no heartbeat can be written, what this process decides alone.
 */
import type { VerificationBound } from '../../core/verification-bound.ts';
import type { Logger } from '../../platform/log.ts';
import type { MirrorReader, MirrorWriter } from '../../mirror/mirror.ts';
import { SqliteFault, type PlainError } from '../../sqlite/errors.ts';
import type { ReceiverRow } from '../../inbox/inbox-file.ts';
import type { ReceiverReport } from '../../inbox/report.ts';
import { HEARTBEAT_VALID_MS } from '../../mirror/file/state.ts';
import type { Status } from '../../mirror/queries/status.ts';
import type { StateFacts } from '../../mirror/queries/state-facts.ts';
import { CAUSE_CODES, type CauseCode } from './causes.ts';
import { firstCause, stateOf, verdictOf, type ProcessFacts, type Verdict } from './state.ts';
import type { Blocked } from '../../store-api/blocked.ts';
import { checkedSinceMs } from './verification-cause.ts';

export interface StateWatchDeps {
  /** null, as `writer`, if this host only receives. */
  readonly reader: MirrorReader | null;
  readonly writer: Pick<MirrorWriter, 'command' | 'position' | 'fault'> | null;
  readonly now: () => number;
  readonly log: Logger;
  readonly blocked: () => Blocked | null;
  readonly clockAheadMs: () => number | null;
  /** null if nothing is verified by schedule. */
  readonly verification: () => VerificationBound | null;
  /** The last sample. */
  readonly status: () => Pick<Status, 'pending_reads'> | null;
  /** Called once a second with what every face shows. */
  readonly observed?: (verdict: Verdict) => void;
  /** The receiver lives, and everything that was in the stream at the start is in the inbox. */
  readonly isReady: () => boolean;
}

type HeartbeatFacts = Pick<ProcessFacts, 'isReady' | 'lateSinceMs'>;

interface FaultContext {
  readonly heartbeat: HeartbeatFacts;
  /** Met by a reader just now. */
  readonly error: SqliteFault | null;
}

/** An ordinary start takes less, and is not logged as a cause. */
const START_WITHIN_MS = 10_000;

export class StateWatch {
  readonly #deps: StateWatchDeps;
  readonly #startedAtMs: number;
  #row: ReceiverRow | null = null;
  #report: ReceiverReport | null = null;
  /** Own clock; while no heartbeat was read, the start of this process. */
  #receiverAliveAtMs: number;
  /** Why the receiver of this process cannot commit. */
  #trouble: PlainError | null = null;
  #fault: ProcessFacts['fault'] = null;
  /** The last row of the inbox at an instant; replaced once that row is applied. */
  #awaited: { readonly seq: number; readonly atMs: number };
  /** The last heartbeat in the file; null before the first. */
  #writtenAtMs: number | null = null;
  #file: StateFacts | null = null;
  readonly #since = new Map<CauseCode, number>();
  #logged: Verdict['state'] | null = null;
  #isStopped = false;

  constructor(deps: StateWatchDeps) {
    const nowMs = deps.now();
    this.#deps = deps;
    this.#startedAtMs = nowMs;
    this.#receiverAliveAtMs = nowMs;
    this.#awaited = { seq: 0, atMs: nowMs };
  }

  /** When a webhook of the store last arrived; own clock, null if unknown. */
  get lastAcceptedAtMs(): number | null {
    return this.#file?.lastWebhookAtMs ?? this.#report?.accepted.lastAtMs ?? null;
  }

  /** The verdict that every face shows. */
  async shown(): Promise<Verdict> {
    const { reader } = this.#deps;
    if (reader === null || !this.#isWritten()) return this.#alone();
    try {
      return this.shownIn(await reader.ask('shownCauses'));
    } catch (error) {
      if (error instanceof SqliteFault) return this.shownIn(error);
      throw error;
    }
  }

  /** @param found `causes` of `mirror_status`, as just read, or the error that prevented it. */
  shownIn(found: string | SqliteFault): Verdict {
    if (found instanceof SqliteFault) return this.#alone(found);
    return this.#isWritten() ? verdictOf(found) : this.#alone();
  }

  /** Decides the state and writes it with the heartbeat. @param atMs the host's clock. @throws SqliteFault */
  async beat(atMs: number): Promise<void> {
    const { reader, writer } = this.#deps;
    if (reader === null || writer === null) return;
    const isWritten = await this.#write(atMs, { reader, writer });
    // The facts changed between the decision and its writing.
    if (!isWritten) await this.#write(atMs, { reader, writer });
  }

  async #write(
    atMs: number,
    { reader, writer }: { readonly reader: MirrorReader; readonly writer: Pick<MirrorWriter, 'command'> },
  ): Promise<boolean> {
    const { now, isReady, verification } = this.#deps;
    const nowMs = now();
    const file = await reader.ask('stateFacts', { nowMs });
    this.#file = file;
    const decided = this.#decide(nowMs, { isReady: isReady(), lateSinceMs: null });
    const { epoch, trustedAfterMs, wayIn } = file;
    const isWritten = await writer.command('alive', {
      atMs,
      clockMs: nowMs,
      epoch,
      trustedAfterMs,
      wayIn,
      checkedSinceMs: checkedSinceMs(nowMs, verification()),
      state: decided.state,
      stateCause: firstCause(decided),
      causesJson: JSON.stringify(decided.causes),
    });
    if (isWritten) {
      this.#writtenAtMs = nowMs;
      this.#log(decided);
    }
    return isWritten;
  }

  /** Takes the receiver's last heartbeat and report, null while there is none; call it each second. */
  received(row: ReceiverRow | null, report: ReceiverReport | null): void {
    if (row !== null && report !== null) {
      this.#row = row;
      this.#report = report;
      this.#receiverAliveAtMs = row.clockMs ?? this.#receiverAliveAtMs;
    }
    if (!this.#isWritten()) this.#log(this.#alone());
  }

  troubled(error: PlainError | null): void {
    this.#trouble = error;
  }

  /** Logs nothing more: the end of the receiver, which a last heartbeat shows, is no fault while both stop. */
  stop(): void {
    this.#isStopped = true;
  }

  #log(next: Verdict): void {
    if (this.#isStopped) return;
    const { log } = this.#deps;
    this.#deps.observed?.(next);
    const isStarting =
      this.#deps.now() - this.#startedAtMs < START_WITHIN_MS &&
      next.causes.some(({ code }) => code === 'starting');
    for (const { code, severity, since, owner, message, remedy } of next.causes) {
      if (isStarting && code === 'starting') continue;
      if (this.#since.has(code)) continue;
      this.#since.set(code, since ?? this.#deps.now());
      log[severity === 'critical' ? 'error' : 'warn']({ cause: code, owner, since }, `${message} ${remedy}`);
    }
    for (const code of CAUSE_CODES) {
      if (next.causes.some((cause) => cause.code === code) || !this.#since.delete(code)) continue;
      log.info({ cause: code }, 'this cause has ended');
    }
    if (isStarting) return;
    if (next.state !== this.#logged) {
      const half = this.#deps.writer === null ? 'receiver' : 'mirror';
      log.info({ state: next.state }, `the ${half} is ${next.state}`);
    }
    this.#logged = next.state;
  }

  /** Readers of the file count the last heartbeat, and the next one is expected. */
  #isWritten(): boolean {
    const { writer, now } = this.#deps;
    const writtenAtMs = this.#writtenAtMs;
    return writer?.fault === null && writtenAtMs !== null && now() - writtenAtMs <= HEARTBEAT_VALID_MS;
  }

  /** Before the first heartbeat the mirror is starting; after it, the heartbeat is late. */
  #alone(error: SqliteFault | null = null): Verdict {
    const writtenAtMs = this.#writtenAtMs;
    return this.#decide(this.#deps.now(), { isReady: writtenAtMs !== null, lateSinceMs: writtenAtMs }, error);
  }

  #decide(nowMs: number, heartbeat: HeartbeatFacts, error: SqliteFault | null = null): Verdict {
    const own = { ...this.#facts(nowMs, { error, heartbeat }), ...heartbeat };
    const pendingReads = this.#deps.status()?.pending_reads ?? null;
    const { state, causes } = stateOf({ nowMs, file: this.#file, own, pendingReads });
    const dated = causes.map((cause) => ({
      ...cause,
      since: cause.since ?? this.#since.get(cause.code) ?? nowMs,
    }));
    return { state, causes: dated };
  }

  #facts(nowMs: number, context: FaultContext): Omit<ProcessFacts, keyof HeartbeatFacts> {
    return {
      receiver: {
        lastGoodAtMs: this.#receiverAliveAtMs,
        isStopped: this.#row?.isStopped === true,
        lastError: this.#trouble,
      },
      fault: this.#faultNow(nowMs, context),
      behindSinceMs: this.#behindSince(nowMs),
      blocked: this.#deps.blocked(),
      verification: this.#deps.verification(),
      clockAheadMs: this.#deps.clockAheadMs(),
      refused: this.#report?.refused ?? [],
      stream: this.#report?.stream ?? null,
      isMirror: this.#deps.writer !== null,
    };
  }

  /** Lasts until the next heartbeat: readers count the last one no longer, and the mirror was not stopped. */
  #faultNow(nowMs: number, { error, heartbeat: { lateSinceMs } }: FaultContext): ProcessFacts['fault'] {
    const fault = this.#deps.writer?.fault ?? error;
    if (fault === null && lateSinceMs !== null) return this.#fault;
    if (fault === null) return (this.#fault = null);
    const { kind, message } = fault;
    return (this.#fault = { kind, message, sinceMs: this.#fault?.sinceMs ?? nowMs });
  }

  #behindSince(nowMs: number): number | null {
    const lastSeq = this.#report?.lastSeq ?? 0;
    const inboxSeq = this.#deps.writer?.position.inboxSeq ?? lastSeq;
    if (inboxSeq >= this.#awaited.seq) this.#awaited = { seq: lastSeq, atMs: nowMs };
    return inboxSeq >= lastSeq ? null : this.#awaited.atMs;
  }
}
