/** How this machine stands to the others that share its event log, and what is wrong between them, in words. */
import type { Cause } from './cause.ts';

/** Durations, since the clocks of machines differ. */
export interface ReplicationView {
  /** Of this process among the others. */
  readonly name: string;
  /** What is copied, or forwarded to: an address, without secrets. */
  readonly origin: string;
  /** Null: webhooks do not come here. */
  readonly receiver: {
    /** Answered, and not yet acknowledged by the engine. */
    readonly backlog: number;
    /** How long the oldest of them has waited. */
    readonly backlog_age_ms: number;
    readonly trouble: string | null;
  } | null;
  /** Null: this process keeps no mirror. */
  readonly replica: {
    /** Entries in the source that are not here yet, as far as is known. */
    readonly left: number;
    /** How long ago this replica last had everything; null: not since its start. */
    readonly behind_ms: number | null;
    /** It had everything a moment ago. */
    readonly is_up_to_date: boolean;
    readonly trouble: string | null;
    /** How long ago the trouble began; null: none. */
    readonly trouble_ms: number | null;
  } | null;
  /** Null: this process never reads from the store. */
  readonly lead: { readonly is_leading: boolean } | null;
  /** All that are known to be there, this process included; none of a primary. */
  readonly members: {
    readonly receivers: readonly {
      readonly name: string;
      readonly backlog: number;
      readonly backlog_age_ms: number;
    }[];
    readonly replicas: readonly {
      readonly name: string;
      readonly last_seq: number;
      readonly is_up_to_date: boolean;
      readonly is_leading: boolean;
    }[];
  };
}

/** The engine needs up to this long for a new leader when a server is restarted. */
const FORWARDED_WITHIN_MS = 15_000;
const CUT_OFF_AFTER_MS = 5_000;

export function replicationTrouble(view: ReplicationView, nowMs: number): Cause[] {
  return [cutOff(view, nowMs), notForwarded(view, nowMs)].filter((cause) => cause !== null);
}

export function cutOff({ origin, replica }: ReplicationView, nowMs: number): Cause | null {
  if (replica?.trouble === null || replica === null) return null;
  const { trouble } = replica;
  // One that has just started has never had everything.
  const cutOffMs = replica.behind_ms ?? replica.trouble_ms ?? 0;
  if (cutOffMs < CUT_OFF_AFTER_MS) return null;
  return {
    kind: 'cut_off',
    owner: 'network',
    cause: `This replica cannot follow ${origin}: ${trouble}`,
    figures: 'the figures are those of the last moment it could',
    remedy: 'see that the other end runs and can be reached from here; the replica then catches up by itself',
    since: nowMs - cutOffMs,
    until: null,
  };
}

/** The receiver here, or one that others have heard of. */
export function notForwarded(
  { name, origin, receiver, members }: ReplicationView,
  nowMs: number,
): Cause | null {
  const own = receiver === null ? [] : [{ name, ...receiver }];
  const others = members.receivers
    .filter((at) => receiver === null || at.name !== name)
    .map((at) => ({ ...at, trouble: null }));
  const late = [...own, ...others].filter(
    ({ backlog, backlog_age_ms: ageMs }) => backlog > 0 && ageMs >= FORWARDED_WITHIN_MS,
  );
  const [worst] = late.toSorted((a, b) => b.backlog_age_ms - a.backlog_age_ms);
  if (worst === undefined) return null;
  const why = worst.trouble === null ? '' : `: ${worst.trouble}`;
  return {
    kind: 'not_forwarded',
    owner: 'network',
    cause: `${worst.backlog.toLocaleString('en')} deliveries wait in the outbox of ${worst.name} to be forwarded to ${origin}${why}`,
    figures: 'these webhooks are answered and kept, and the mirrors do not have them yet',
    remedy:
      'see that a majority of the engine’s servers runs and can be reached from there; nothing needs to be restarted',
    since: nowMs - worst.backlog_age_ms,
    until: null,
  };
}
