/** When the schedules run next, as people there write it. */
import { Cron } from 'croner';

interface Schedules {
  readonly reconcileCron: string | null;
  readonly resyncCron: string | null;
  /** null for the time zone of the system. */
  readonly timezone: string | null;
}

export interface NextTimes {
  readonly timeZone: string;
  /** Such as `2026-11-29 03:00 GMT+07:00`; null if it is off. */
  readonly resync: string | null;
  readonly reconcile: string | null;
}

/** @param now by default the present. */
export function nextTimes(
  { resyncCron, reconcileCron, ...schedules }: Schedules,
  now = new Date(),
): NextTimes {
  const timezone = schedules.timezone ?? systemZone();
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'longOffset',
  });
  const next = (pattern: string | null): string | null => {
    const at = pattern === null ? null : new Cron(pattern, { paused: true, timezone }).nextRun(now);
    return at === null ? null : format.format(at);
  };
  return { timeZone: timezone, resync: next(resyncCron), reconcile: next(reconcileCron) };
}

function systemZone(): string {
  // undefined where the system does not name its zone.
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions() as { readonly timeZone?: string };
  return timeZone ?? 'UTC';
}
