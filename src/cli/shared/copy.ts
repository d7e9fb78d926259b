/** What commands know of a mirror that is a copy (docs/follower.md#following-a-primary). */
import { describeConfig, loadConfig, loadLocalConfig, type Config } from '../../config/config.ts';
import { EventLog } from '../../event-log/event-log.ts';
import { eventLogPath, openLogForReading } from '../../event-log/open-log.ts';
import { isThere } from '../../sqlite/is-there.ts';

/** What the mirror at this path is a copy of; null: of nothing, or its event log cannot be read, which is told elsewhere. */
export function originOf(databasePath: string): string | null {
  const path = eventLogPath(databasePath);
  if (!isThere(path)) return null;
  try {
    const db = openLogForReading(path);
    try {
      return new EventLog(db).history().copiedFrom?.origin ?? null;
    } finally {
      db.close();
    }
  } catch {
    return null;
  }
}

/**
 * As `loadConfig`, for a command that asks the store.
 *
 * @param instead what to do where the mirror is a copy, which needs no settings of the store. @throws ConfigError, Error
 */
export function loadConfigFor(instead: string): Config {
  const path = copyWithoutStore();
  if (path === null) return loadConfig();
  throw new Error(
    `${path} is a copy of ${originOf(path)}, and the settings of the store are not set here: ${instead}`,
  );
}

/** @returns its path; null: the file is no copy, or the settings are there, or wrong. */
function copyWithoutStore(): string | null {
  const { path } = loadLocalConfig().database;
  const isMissing = describeConfig().every(
    ({ name, source }) => !name.startsWith('SERVICE_') || source !== 'set',
  );
  return isMissing && originOf(path) !== null ? path : null;
}
