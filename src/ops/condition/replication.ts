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
    /** Entries that are known to be there, and are not here. */
    readonly left: number;
    /** How long ago this replica last had everything; null: not since its start. */
    readonly behind_ms: number | null;
    readonly trouble: string | null;
  } | null;
  /** Null: this process never reads from the store. */
  readonly lead: {
    readonly is_leading: boolean;
    /** Who leads; null: nobody, or not known. */
    readonly holder: string | null;
  } | null;
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
      readonly is_level: boolean;
      readonly is_leading: boolean;
    }[];
  };
}

/** A server of the engine that is restarted takes this long to be replaced. */
const FORWARDED_WITHIN_MS = 15_000;
const CUT_OFF_AFTER_MS = 5_000;

export function replicationTrouble({ origin, receiver, replica }: ReplicationView, nowMs: number): Cause[] {
  const causes: Cause[] = [];
  if (
    replica !== null &&
    replica.trouble !== null &&
    (replica.behind_ms ?? CUT_OFF_AFTER_MS) >= CUT_OFF_AFTER_MS
  ) {
    causes.push({
      kind: 'cut_off',
      owner: 'network',
      cause: `This replica cannot follow ${origin}: ${replica.trouble}`,
      figures: 'the figures are those of the last moment it could',
      remedy:
        'see that the other end runs and can be reached from here; the replica then catches up by itself',
      since: replica.behind_ms === null ? null : nowMs - replica.behind_ms,
      until: null,
    });
  }
  if (receiver !== null && receiver.backlog > 0 && receiver.backlog_age_ms >= FORWARDED_WITHIN_MS) {
    causes.push({
      kind: 'not_forwarded',
      owner: 'network',
      cause: `${receiver.backlog.toLocaleString('en')} deliveries wait to be forwarded to ${origin}${receiver.trouble === null ? '' : `: ${receiver.trouble}`}`,
      figures: 'webhooks are answered and kept here, and the mirrors do not know of them yet',
      remedy:
        'see that a majority of the engine’s servers runs and can be reached from here; nothing needs to be restarted',
      since: nowMs - receiver.backlog_age_ms,
      until: null,
    });
  }
  return causes;
}
