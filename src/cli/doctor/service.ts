/** The service: are the credentials accepted, may the catalogue be read, and do the clocks agree. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../config.ts';
import { connectOver } from '../../service/connect.ts';
import { ServiceError, type AnswerTimes } from '../../service/errors.ts';
import { createHttpTransport } from '../../service/http.ts';
import { createTokenFile } from '../../service/token-file.ts';
import { TOKEN_ENDPOINT } from '../../service/token-request.ts';
import type { Transport } from '../../service/transport.ts';
import { fail, messageOf, ok, warn, type Check } from './check.ts';

const CLOCK_WARN_MS = 5_000;
const LATCHED =
  'no token is requested until SERVICE_CLIENT_ID or SERVICE_CLIENT_SECRET is corrected; if the service was wrong, ' +
  'stock-mirror resync tries once more';

/** Asks for one token at most, and for none while the credentials are latched or a cached one lives. */
export async function checkService(config: Config): Promise<Check[]> {
  const { baseUrl, clientId } = config.service;
  const clientSecret = config.service.clientSecret.reveal();
  const path = `${config.database.path}.token`;
  const file = createTokenFile({ path, baseUrl, clientId, clientSecret });
  let state;
  try {
    state = await file.read();
  } catch (error) {
    return [fail('credentials', messageOf(error), `let this user read ${path}, or delete it`)];
  }
  const latch = state?.latch ?? null;
  if (latch !== null) {
    const since = new Date(latch.atMs).toISOString();
    return [
      fail('credentials', `refused by the service at ${since} (${latch.description}), and latched`, LATCHED),
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
      'a new token was issued; a start of the service makes the folder to keep one in',
    );
  }
  const message = `the token cannot be cached: ${errors.join(', ')}`;
  return warn('credentials', message, `let this user write ${path}`);
}

function oneToken(send: Transport, requests: { tokens: number }): Transport {
  return (request) => {
    if (request.endpoint === TOKEN_ENDPOINT && (requests.tokens += 1) > 1) {
      const description = 'a second token is not asked for here';
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
      return fail('credentials', error.message, LATCHED);
    case 'unauthorized':
      return fail(
        'credentials',
        error.message,
        'see that SERVICE_BASE_URL and the credentials belong together',
      );
    case 'rate_limited':
      return warn('credentials', error.message, 'wait, then ask again');
    case 'unavailable':
      return fail('catalogue', error.message, `see that ${baseUrl} can be reached from here, and is well`);
    case 'rejected':
    case 'contract':
    case 'aborted':
      return fail(
        'catalogue',
        error.message,
        `see that ${baseUrl} is the service's, without a proxy in its place`,
      );
  }
}

/** The `Date` header has whole seconds, and the answer was made somewhere between sending and receiving. */
export function checkClock({ sentAtMs, receivedAtMs, serverDateMs }: AnswerTimes): Check {
  if (serverDateMs === null) return ok('clock', 'the service tells no Date to compare with');
  const leastMs = serverDateMs - receivedAtMs;
  const mostMs = serverDateMs + 1_000 - sentAtMs;
  const offBy = leastMs > 0 ? leastMs : mostMs < 0 ? mostMs : 0;
  if (offBy === 0) return ok('clock', 'agrees with the service within what its Date header tells');
  const message = `the service's clock is ${(Math.abs(offBy) / 1_000).toFixed(1)} s ${offBy > 0 ? 'ahead' : 'behind'}`;
  if (Math.abs(offBy) < CLOCK_WARN_MS) return ok('clock', message);
  return warn(
    'clock',
    message,
    'let NTP set the clock of this machine; the mirror stays right, but reads more',
  );
}
