/** Alarms: what a person should look at now. */

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
