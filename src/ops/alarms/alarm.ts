/** Alarms: what a person should look at now. */
import type { CauseKind } from '../condition/cause.ts';
import type { Condition } from '../condition/condition.ts';
import type { OwnTrouble } from '../condition/own-trouble.ts';

export const ALARM_KINDS = [
  'silence',
  'bad_signatures',
  'store_cannot_commit',
  'tables_behind',
  'credentials',
  'wrong_store',
  'service_unreachable',
  'held_removals',
  'parked_reads',
] as const;
export type AlarmKind = (typeof ALARM_KINDS)[number];

export interface Alarm {
  readonly kind: AlarmKind;
  /** Epoch ms. */
  readonly since: number;
  /** What is wrong and whose fault it is, what it means for the figures, what to do. */
  readonly message: string;
}

/** What a rule found. Without `since`, the alarm began when it was first found. */
export interface Finding {
  readonly kind: AlarmKind;
  readonly since?: number;
  readonly message: string;
}

export interface AlarmSource {
  /** In the order of `ALARM_KINDS`. */
  readonly current: readonly Alarm[];
  /** What the mirror knows of itself; null: not known yet. */
  readonly own: OwnTrouble | null;
  /** As of a moment ago; null: not known yet. */
  readonly condition: Condition | null;
  /** The ceiling of reads, `SERVICE_MAX_RPS`; null: not known. */
  readonly maxRps: number | null;
}

/** What an alarm is about, where a cause of the mirror's state says the same. */
const CAUSES: Readonly<Partial<Record<AlarmKind, readonly CauseKind[]>>> = {
  store_cannot_commit: ['no_room', 'cannot_store'],
  tables_behind: ['no_room', 'tables_locked', 'tables_stuck'],
  credentials: ['credentials'],
  wrong_store: ['wrong_store'],
  service_unreachable: ['store_down', 'not_the_store', 'rate_limited'],
};

/** The alarms that no cause says already. */
export function besides<A extends { readonly kind: string }>(
  alarms: readonly A[],
  causes: readonly { readonly kind: string }[],
): A[] {
  const told = new Map<string, readonly string[]>(Object.entries(CAUSES));
  return alarms.filter(({ kind }) => !causes.some((cause) => told.get(kind)?.includes(cause.kind) === true));
}

/** The alarms after `findings`; one that was already active keeps its start. */
export function nextAlarms(
  standing: readonly Alarm[],
  findings: readonly Finding[],
  nowMs: number,
): readonly Alarm[] {
  return ALARM_KINDS.flatMap((kind) => {
    const finding = findings.find((each) => each.kind === kind);
    if (finding === undefined) return [];
    const before = standing.find((each) => each.kind === kind);
    return [{ kind, since: before?.since ?? finding.since ?? nowMs, message: finding.message }];
  });
}
