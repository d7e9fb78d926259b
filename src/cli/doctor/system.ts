import Database from 'better-sqlite3';
import type { Config } from '../../config/config.ts';
import { nextTimes } from '../../reconcile/next-times.ts';
import { explain } from '../../sqlite/explain.ts';
import { ok, type Finding } from './check.ts';

/** @throws SqliteFault if SQLite cannot be loaded. */
export function checkSystem(): Finding {
  return explain('SQLite', () => {
    const db = new Database(':memory:');
    const version = String(db.prepare<[], string>('SELECT sqlite_version()').pluck().get());
    db.close();
    return ok(`SQLite ${version}, Node ${process.versions.node}, ${process.platform} ${process.arch}`);
  });
}

export function checkSchedules(schedules: Config['schedules']): Finding {
  const { timeZone, resync, reconcile } = nextTimes(schedules);
  return ok(
    `time zone ${timeZone}; next RESYNC_CRON: ${resync ?? 'off'}, next RECONCILE_CRON: ${reconcile ?? 'off'}`,
  );
}
