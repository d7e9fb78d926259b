/** The cron schedules (docs/configuration.md): when due products are read again, and when the whole catalogue is. */
import { Cron } from 'croner';

export interface ScheduleOptions {
  /** croner patterns; null switches a schedule off. */
  readonly reconcileCron: string | null;
  readonly resyncCron: string | null;
  /** By default the system's. */
  readonly timezone?: string;
}

export interface Schedule {
  stop(): void;
}

/** @param onError called when a job fails; the schedule continues. */
export function startSchedule(
  options: ScheduleOptions,
  jobs: { readonly reconcile: () => Promise<unknown>; readonly resync: () => Promise<unknown> },
  onError: (error: unknown, job: string) => void,
): Schedule {
  const start = (pattern: string | null, name: string, job: () => Promise<unknown>): Cron | null =>
    pattern === null
      ? null
      : new Cron(
          pattern,
          {
            // A job that takes longer than its interval is not started a second time in parallel.
            protect: true,
            unref: true,
            catch: (error: unknown) => onError(error, name),
            ...(options.timezone === undefined ? {} : { timezone: options.timezone }),
          },
          async () => {
            await job();
          },
        );
  const crons = [
    start(options.reconcileCron, 'reconcile', jobs.reconcile),
    start(options.resyncCron, 'resync', jobs.resync),
  ];
  return { stop: () => crons.forEach((cron) => cron?.stop()) };
}
