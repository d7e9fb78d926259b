/** Gathers what the alarm rules need as it happens, and applies the rules once a second. */
import type { Logger } from '../../platform/log.ts';
import type { StoreReader } from '../../mirror/mirror.ts';
import type { StoreWriter } from '../../mirror/mirror.ts';
import { ALARM_KINDS, nextAlarms, type Alarm, type AlarmSource } from './alarm.ts';
import { DeliveryHistory } from './delivery-history.ts';
import { judge, type WatchedState } from './judge.ts';
import { SlotCounts } from './slot-counts.ts';
import { ConditionLog } from '../condition/condition-log.ts';
import { conditionOf, type Condition, type ConditionStatus } from '../condition/condition.ts';
import { GrowingBacklog } from '../condition/growing-backlog.ts';
import type { OwnTrouble } from '../condition/own-trouble.ts';
import type { Blocked } from '../condition/store-trouble.ts';
import type { PlainError } from '../../sqlite/errors.ts';
import type { HeldRemovals } from './held-words.ts';

interface WatchmanDeps {
  readonly reader: StoreReader;
  readonly inbox: { readonly lastSeq: number };
  readonly writer: Pick<StoreWriter, 'position' | 'fault'>;
  readonly now: () => number;
  readonly log: Logger;
  /** Why no request is sent to the store at present. */
  readonly blocked: () => Blocked | null;
  /** How far this machine's clock is ahead of the store's; null: it is not, as far as is known. */
  readonly clockAheadMs: () => number | null;
  /** The ceiling of reads, `SERVICE_MAX_RPS`; null: not known. */
  readonly maxRps: number | null;
  /** As last read from the database; null: not known yet. */
  readonly figures: () => {
    readonly lastDeliveryAtMs: number | null;
    readonly held: HeldRemovals;
    readonly parkedReads: number;
    readonly status: ConditionStatus | null;
  };
}

const EVERY_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR = 60;
const QUARTER = 15;
/** A tick later than this means that the whole process was held up. */
const LATE_MS = 3_000;

export class Watchman implements AlarmSource {
  readonly #deps: WatchmanDeps;
  readonly #history: DeliveryHistory;
  readonly #wrong: SlotCounts;
  readonly #right: SlotCounts;
  #lastDeliveryAtMs: number | null = null;
  #listeningSinceMs: number;
  #blocked: WatchedState['blocked'] = null;
  #lastGoodAtMs: number;
  #lastCommitError: PlainError | null = null;
  #stuck: OwnTrouble['stuck'] = null;
  #turnedAwayAtMs: number | null = null;
  #misdirected: OwnTrouble['misdirected'] = null;
  readonly #backlog = new GrowingBacklog();
  readonly #conditionLog: ConditionLog;
  #condition: Condition | null = null;
  /** The last entry of the event log at an instant; it is moved on once that is applied. */
  #awaited: { readonly seq: number; readonly atMs: number };
  #tickedMs = performance.now();
  #alarms: readonly Alarm[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(deps: WatchmanDeps) {
    const nowMs = deps.now();
    this.#deps = deps;
    this.#history = new DeliveryHistory(nowMs);
    this.#wrong = new SlotCounts(MINUTE_MS, HOUR, nowMs);
    this.#right = new SlotCounts(MINUTE_MS, HOUR, nowMs);
    this.#listeningSinceMs = nowMs;
    this.#lastGoodAtMs = nowMs;
    this.#awaited = { seq: deps.inbox.lastSeq, atMs: nowMs };
    this.#conditionLog = new ConditionLog(deps.log);
  }

  get maxRps(): number | null {
    return this.#deps.maxRps;
  }

  /** As of the last tick; null: not known yet. */
  get condition(): Condition | null {
    return this.#condition;
  }

  get own(): OwnTrouble {
    const nowMs = this.#deps.now();
    return {
      commits: { lastGoodAtMs: this.#lastGoodAtMs, lastError: this.#lastCommitError },
      stuck: this.#stuckNow(nowMs),
      behindSinceMs: this.#behindSince(nowMs),
      clockAheadMs: this.#deps.clockAheadMs(),
      growingSinceMs: this.#backlog.sinceMs,
      turnedAwayAtMs: this.#turnedAwayAtMs,
      misdirected: this.#misdirected,
    };
  }

  get current(): readonly Alarm[] {
    return this.#alarms;
  }

  get lastDeliveryAtMs(): number | null {
    return this.#lastDeliveryAtMs ?? this.#deps.figures().lastDeliveryAtMs;
  }

  /** An authentic delivery came, stored or not. */
  delivered(atMs: number): void {
    this.#lastDeliveryAtMs = atMs;
    this.#misdirected = null;
    this.#history.count(atMs);
    this.#right.add(atMs);
  }

  wronglySigned(atMs: number): void {
    this.#wrong.add(atMs);
  }

  /** For lack of room. */
  turnedAway(atMs: number): void {
    this.#turnedAwayAtMs = atMs;
  }

  misdirected(latest: NonNullable<OwnTrouble['misdirected']>): void {
    this.#misdirected = latest;
  }

  /** @param error null: a transaction succeeded. */
  committed(error: PlainError | null): void {
    if (error === null) this.#lastGoodAtMs = this.#deps.now();
    this.#lastCommitError = error;
  }

  /** The mirror was not listening for a while, up to now. */
  stoodStill(): void {
    this.#listeningSinceMs = this.#deps.now();
  }

  /** @throws StoreError when the event log cannot be read for the usual rate. */
  async start(): Promise<void> {
    const { reader, now } = this.#deps;
    this.#timer = setInterval(() => this.#tick(), EVERY_MS);
    this.#timer.unref();
    const wanted = DeliveryHistory.wanted(now());
    this.#history.learn(wanted.fromMs, await reader.ask('deliveryCounts', wanted));
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #tick(): void {
    const { now, log } = this.#deps;
    const nowMs = now();
    const tickMs = performance.now();
    const lateMs = tickMs - this.#tickedMs - EVERY_MS;
    this.#tickedMs = tickMs;
    // While the process was held up, it could not try a transaction either.
    if (lateMs > LATE_MS) this.#lastGoodAtMs = Math.min(nowMs, this.#lastGoodAtMs + lateMs);
    const before = this.#alarms;
    this.#alarms = nextAlarms(before, judge(this.#view(nowMs)), nowMs);
    for (const kind of ALARM_KINDS) {
      const stood = before.some((alarm) => alarm.kind === kind);
      const stands = this.#alarms.find((alarm) => alarm.kind === kind);
      if (stands !== undefined && !stood) log.warn({ alarm: kind, since: stands.since }, stands.message);
      if (stands === undefined && stood) log.info({ alarm: kind }, 'the alarm is over');
    }
    this.#judgeCondition(nowMs);
  }

  #judgeCondition(nowMs: number): void {
    const { figures, blocked, maxRps } = this.#deps;
    const { status } = figures();
    if (status === null) return;
    const why = blocked();
    this.#backlog.look(
      { pendingReads: status.pending_reads, isReading: why === null && status.state === 'live' },
      nowMs,
    );
    const { own } = this;
    this.#condition = conditionOf({ status, nowMs, serving: 'yes', blocked: why, own, maxRps });
    this.#conditionLog.tell(this.#condition);
  }

  #stuckNow(nowMs: number): OwnTrouble['stuck'] {
    const { fault } = this.#deps.writer;
    if (fault === null) return (this.#stuck = null);
    const sinceMs = this.#stuck?.sinceMs ?? nowMs;
    return (this.#stuck = { kind: fault.kind, message: fault.message, sinceMs });
  }

  #behindSince(nowMs: number): number | null {
    const { lastSeq } = this.#deps.inbox;
    const { inboxSeq: appliedSeq } = this.#deps.writer.position;
    if (appliedSeq >= this.#awaited.seq) this.#awaited = { seq: lastSeq, atMs: nowMs };
    return appliedSeq >= lastSeq ? null : this.#awaited.atMs;
  }

  #view(nowMs: number): WatchedState {
    const { blocked, figures } = this.#deps;
    const { held, parkedReads } = figures();
    const { lastDeliveryAtMs } = this;
    const silentSinceMs = Math.max(lastDeliveryAtMs ?? 0, this.#listeningSinceMs);
    const counts = (slots: number) => ({
      wrong: this.#wrong.latest(nowMs, slots),
      right: this.#right.latest(nowMs, slots),
    });
    const why = blocked();
    const sinceMs = this.#blocked?.kind === why?.kind ? this.#blocked?.sinceMs : nowMs;
    this.#blocked = why === null ? null : { ...why, sinceMs: why.sinceMs ?? sinceMs ?? nowMs };
    return {
      silence: {
        nowMs,
        lastDeliveryAtMs,
        listeningSinceMs: this.#listeningSinceMs,
        before: this.#history.before(silentSinceMs, nowMs),
      },
      signatures: { lastHour: counts(HOUR), lastQuarter: counts(QUARTER) },
      blocked: this.#blocked,
      own: this.own,
      held,
      parkedReads,
    };
  }
}
