/** The store: are the credentials accepted, can the catalogue be read, and do the clocks agree? */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../config/config.ts';
import { storeAheadMs } from '../../store-api/transport/http-date.ts';
import { connectOver } from '../../store-api/connect.ts';
import { ServiceError, type AnswerTimes } from '../../store-api/transport/errors.ts';
import { createHttpTransport } from '../../store-api/transport/http.ts';
import { createTokenFile } from '../../store-api/token/token-file.ts';
import { TOKEN_ENDPOINT } from '../../store-api/token/token-request.ts';
import type { Transport } from '../../store-api/transport/transport.ts';
import { describeProxy } from '../../platform/proxy.ts';
import { messageOf } from '../../platform/thrown.ts';
import { fail, ok, warn, type Check } from './check.ts';

const CLOCK_WARN_MS = 5_000;
const LOCKED_OUT =
  'correct SERVICE_CLIENT_ID or SERVICE_CLIENT_SECRET: until then no token is requested. If the store was wrong, ' +
  '`stock-mirror resync` tries once more';

/** Requests at most one token, and none during a credential lockout or while a cached token is valid. */
export async function checkService(config: Pick<Config, 'service' | 'database'>): Promise<Check[]> {
  return [...checkProxy(config.service.baseUrl), ...(await checkStore(config))];
}

function checkProxy(baseUrl: string): Check[] {
  const proxy = describeProxy(baseUrl);
  return proxy === null ? [] : [ok('proxy', `the store is asked through ${proxy}`)];
}

async function checkStore(config: Pick<Config, 'service' | 'database'>): Promise<Check[]> {
  const { baseUrl, clientId } = config.service;
  const clientSecret = config.service.clientSecret.reveal();
  const path = `${config.database.path}.token`;
  const file = createTokenFile(path, { baseUrl, clientId, clientSecret });
  let state;
  try {
    state = await file.read();
  } catch (error) {
    return [fail('credentials', messageOf(error), `give this user read access to ${path}, or delete it`)];
  }
  const lockout = state?.latch ?? null;
  if (lockout !== null) {
    const since = new Date(lockout.atMs).toISOString();
    return [
      fail(
        'credentials',
        `the store refused them at ${since} (${lockout.description}); they are locked out`,
        LOCKED_OUT,
      ),
    ];
  }
  const http = createHttpTransport({
    baseUrl,
    maxConcurrency: 1,
    userAgent: 'stock-mirror-doctor',
    now: Date.now,
  });
  const fileErrors: string[] = [];
  const requests = { tokens: 0 };
  const { client, tokens } = connectOver({
    transport: oneToken(http.send, requests),
    close: http.close,
    credentials: { clientId, clientSecret },
    file,
    random: Math.random,
    onFileError: (error) => fileErrors.push(messageOf(error)),
  });
  try {
    await tokens.getToken();
    const { page, ...times } = await client.listProducts({ limit: 1, get_count: true });
    const origin =
      requests.tokens === 0 ? 'the cached token is accepted' : 'a new token was issued, and is cached';
    const credentials = fileErrors.length === 0 ? ok('credentials', origin) : uncached(path, fileErrors);
    const count = page.total ?? page.products.length;
    return [credentials, ok('catalogue', `${baseUrl} lists ${count} products`), checkClock(times)];
  } catch (error) {
    return [explainFailure(error, baseUrl)];
  } finally {
    await client.close();
  }
}

function uncached(path: string, errors: readonly string[]): Check {
  if (!existsSync(dirname(path))) {
    return ok(
      'credentials',
      'a new token was issued; the folder to keep it in is created when the mirror starts',
    );
  }
  const message = `the token cannot be cached: ${errors.join(', ')}`;
  return warn('credentials', message, `give this user write access to ${path}`);
}

function oneToken(send: Transport, requests: { tokens: number }): Transport {
  return (request) => {
    if (request.endpoint === TOKEN_ENDPOINT && (requests.tokens += 1) > 1) {
      const description = 'doctor does not request a second token';
      return Promise.reject(
        new ServiceError({ kind: 'unauthorized', endpoint: TOKEN_ENDPOINT, description }),
      );
    }
    return send(request);
  };
}

function explainFailure(error: unknown, baseUrl: string): Check {
  if (!(error instanceof ServiceError)) throw error;
  switch (error.kind) {
    case 'credentials':
      return fail('credentials', error.message, LOCKED_OUT);
    case 'unauthorized':
      return fail(
        'credentials',
        error.message,
        'check that SERVICE_BASE_URL and the credentials belong to the same store',
      );
    case 'rate_limited':
      return warn('credentials', error.message, 'wait, then try again');
    case 'unavailable':
      return fail(
        'catalogue',
        error.message,
        `check that ${baseUrl} is up and can be reached from this machine; if it has a private CA, name its certificate in NODE_EXTRA_CA_CERTS`,
      );
    case 'rejected':
    case 'contract':
    case 'aborted':
      return fail(
        'catalogue',
        error.message,
        `check that ${baseUrl} is the address of the store's API, and that no proxy answers in its place`,
      );
  }
}

export function checkClock(times: AnswerTimes): Check {
  const offBy = storeAheadMs(times);
  if (offBy === null) return ok('clock', "the store's answers have no Date header to compare with");
  if (offBy === 0) return ok('clock', "agrees with the store's clock, as far as its Date header shows");
  const message = `the store's clock is ${(Math.abs(offBy) / 1_000).toFixed(1)} s ${offBy > 0 ? 'ahead' : 'behind'}`;
  if (Math.abs(offBy) < CLOCK_WARN_MS) return ok('clock', message);
  return warn(
    'clock',
    message,
    'synchronise the clock of this machine with NTP; the figures stay right, but the mirror reads more than it needs to',
  );
}
