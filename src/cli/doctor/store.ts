import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../config/config.ts';
import { commandsOf, withOwnCommands } from '../../platform/own-command.ts';
import { describeProxy } from '../../platform/proxy.ts';
import { messageOf } from '../../platform/thrown.ts';
import { ownFile } from '../../sqlite/database-files.ts';
import { connectService } from '../../store-api/client.ts';
import { ServiceError } from '../../store-api/transport/errors.ts';
import { storeAheadMs } from '../../store-api/transport/http-date.ts';
import { fail, ok, warn, type Finding } from './check.ts';

const CLOCK_WARN_MS = 5_000;

export async function checkStore({ service, database, command }: Config): Promise<Finding[]> {
  const { baseUrl, clientId } = service;
  const proxy = describeProxy(baseUrl);
  const found = proxy === null ? [] : [ok(`${baseUrl} is reached through the proxy ${proxy}`)];
  const tokenFilePath = ownFile(database.path, 'token');
  const hasFolder = existsSync(dirname(tokenFilePath));
  const { client } = connectService({
    baseUrl,
    clientId,
    clientSecret: service.clientSecret.reveal(),
    ...(hasFolder ? { tokenFilePath } : {}),
    maxConcurrency: 1,
    onTokenFileError: (error) =>
      found.push(
        warn(
          `the token cannot be cached: ${messageOf(error)}`,
          `give this user write access to ${tokenFilePath}`,
        ),
      ),
  });
  try {
    const { page, ...times } = await client.listProducts({ limit: 1, get_count: true });
    const count = page.total ?? page.products.length;
    found.push(ok(`${baseUrl} accepts the credentials and lists ${count} products`));
    return [...found, checkClock(storeAheadMs(times) ?? 0)];
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const remedy = remedyFor(error, baseUrl);
    return [
      ...found,
      fail(error.message, remedy === null ? null : withOwnCommands(remedy, commandsOf(command))),
    ];
  } finally {
    await client.close();
  }
}

/** @returns null if the message contains the remedy. */
function remedyFor({ kind }: ServiceError, baseUrl: string): string | null {
  if (kind === 'credentials') return 'If the store was at fault, `stock-mirror resync` tries once more';
  if (kind !== 'unavailable') return null;
  return (
    `Check that this machine can reach ${baseUrl}; if it uses a private CA, ` +
    'set NODE_EXTRA_CA_CERTS to its certificate'
  );
}

function checkClock(aheadMs: number): Finding {
  if (Math.abs(aheadMs) < CLOCK_WARN_MS) return ok("the clock agrees with the store's");
  const by = `${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead' : 'behind'}`;
  return warn(
    `the store's clock is ${by}`,
    'synchronise this machine’s clock with NTP; values stay right, but more products are read than necessary',
  );
}
