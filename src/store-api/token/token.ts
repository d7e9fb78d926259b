/** Access tokens: one for all calls, requested as rarely as possible (docs/store-api.md#authentication). */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../platform/thrown.ts';
import { fullJitterMs } from '../backoff.ts';
import { ServiceError, summary } from '../transport/errors.ts';
import type { IssuedToken, TokenFile, TokenState } from './token-file.ts';
import { requestToken, TOKEN_ENDPOINT, type Credentials } from './token-request.ts';
import type { Transport } from '../transport/transport.ts';

export interface TokenProvider {
  /**
   * From memory, else from the shared file, else from one request that all callers share; `signal` ends only this wait.
   * A failed refresh is no error while the current token is valid, unless it begins a lockout.
   * @throws ServiceError at once: `credentials` during a lockout; `rate_limited` or `unavailable` with `retryAfterMs`
   * during a pause after 429 or a failure.
   */
  getToken(options?: { readonly signal?: AbortSignal | undefined }): Promise<string>;
  /** Reports that the store refused this token, and drops it if it is still the current one. */
  invalidate(token: string): void;
  /** Lifts the lockout, here and in other processes. Rejects if the file cannot be written. */
  retryCredentials(): Promise<void>;
}

export interface TokenProviderDeps {
  readonly transport: Transport;
  readonly credentials: Credentials;
  readonly file: TokenFile;
  /** Epoch ms, from a clock shared by all processes that share the file. */
  readonly now: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly newRequestId: () => string;
  /** The file cannot be read or written; the provider continues with its state in memory. */
  readonly onFileError: (error: unknown) => void;
}

/** For a 429 without `Retry-After`: the limit is counted per minute. */
const DEFAULT_PAUSE_MS = 60_000;
/** `Retry-After: 0` must not become a tight loop. */
const MIN_PAUSE_MS = 1_000;
const RETRY = { baseMs: 2_000, capMs: 60_000 };
/** Another token will not cure the refusal of one as young as this. */
const YOUNG_MS = 60_000;
/** How long `retryCredentials` waits for a token request under way; a person is waiting. */
const RELEASE_WAIT_MS = 3_000;

export function createTokenProvider(deps: TokenProviderDeps): TokenProvider {
  const { transport, credentials, file, now, random, newRequestId } = deps;
  /** Machines that share the credentials, and were started together, must not all ask within one minute. */
  const earliness = 1 + random();
  /** Five to ten minutes early, or when 80 to 90 % of a short life is over. */
  const refreshAtMs = ({ issuedAtMs, expiresAtMs }: IssuedToken): number =>
    expiresAtMs - earliness * Math.min(5 * 60_000, (expiresAtMs - issuedAtMs) / 10);
  let token: IssuedToken | null = null;
  let refusedToken: string | null = null;
  let lockout: TokenState['lockout'] = null;
  let slowDown: TokenState['pause'] = null;
  /** False while writing `lockout` to the file has failed: the file then cannot show that another process lifted it. */
  let isLockoutInFile = true;
  let holdOff: { fromMs: number; untilMs: number; reason: string } | null = null;
  let failures = 0;
  let refusals = 0;
  let flight: Promise<string> | null = null;

  async function adoptFile(): Promise<void> {
    const state = await file.read().catch((error: unknown) => {
      deps.onFileError(error);
      return null;
    });
    if (state === null) return;
    if (isLockoutInFile) lockout = state.lockout;
    if (state.pause !== null) slowDown = state.pause;
    if (state.token === null || state.token.accessToken === refusedToken) return;
    if (token === null || state.token.expiresAtMs > token.expiresAtMs) token = state.token;
  }

  async function writeFile(): Promise<void> {
    await file.write({ token, lockout, pause: slowDown });
    isLockoutInFile = true;
  }

  async function saveFile(): Promise<void> {
    try {
      await writeFile();
    } catch (error) {
      isLockoutInFile = lockout === null;
      deps.onFileError(error);
    }
  }

  async function refresh(): Promise<string> {
    await adoptFile();
    if (lockout !== null) {
      if (!isLockoutInFile) await saveFile();
      throw lockedOut(lockout);
    }
    if (token !== null && now() < refreshAtMs(token)) return token.accessToken;
    try {
      failWhilePaused();
      return await request();
    } catch (error) {
      if (token !== null && now() < token.expiresAtMs) return token.accessToken;
      throw error;
    }
  }

  async function request(): Promise<string> {
    let issued: IssuedToken;
    try {
      issued = await requestToken(transport, credentials, newRequestId(), now());
    } catch (error) {
      await noteFailure(error);
      throw error;
    }
    token = issued;
    failures = 0;
    await saveFile();
    return issued.accessToken;
  }

  async function noteFailure(error: unknown): Promise<void> {
    const atMs = now();
    if (error instanceof ServiceError && error.kind === 'credentials') {
      lockout = { atMs, description: error.description, requestId: error.requestId ?? null };
      token = null;
      await saveFile();
    } else if (error instanceof ServiceError && error.kind === 'rate_limited') {
      // Another process may have been issued a token, or been refused, meanwhile.
      await adoptFile();
      const pauseMs = Math.max(MIN_PAUSE_MS, error.retryAfterMs ?? DEFAULT_PAUSE_MS);
      slowDown = { fromMs: atMs, untilMs: atMs + pauseMs };
      await saveFile();
    } else {
      failures += 1;
      holdOffFor(failures, error instanceof ServiceError ? summary(error) : messageOf(error));
    }
  }

  function holdOffFor(times: number, reason: string): void {
    const fromMs = now();
    const waitMs = Math.max(MIN_PAUSE_MS, fullJitterMs(times, RETRY, random()));
    holdOff = { fromMs, untilMs: fromMs + waitMs, reason };
  }

  function failWhilePaused(): void {
    const held = [
      ['rate_limited', slowDown, 'the store asked for a pause between token requests'],
      ['unavailable', holdOff, `waiting after a failed token request: ${holdOff?.reason}`],
    ] as const;
    for (const [kind, pause, description] of held) {
      const retryAfterMs = remainingMs(pause, now());
      if (retryAfterMs > 0)
        throw new ServiceError({ kind, endpoint: TOKEN_ENDPOINT, description, retryAfterMs });
    }
  }

  function lockedOut({ atMs, description, requestId }: NonNullable<TokenState['lockout']>) {
    const since = new Date(atMs).toISOString();
    return new ServiceError({
      kind: 'credentials',
      endpoint: TOKEN_ENDPOINT,
      requestId: requestId ?? undefined,
      status: 401,
      code: 'invalid_client',
      description: `${description} (refused at ${since}, not tried again since)`,
    });
  }

  return {
    async getToken({ signal } = {}) {
      if (token !== null && now() < refreshAtMs(token)) return token.accessToken;
      const fail = () =>
        new ServiceError({ kind: 'aborted', endpoint: TOKEN_ENDPOINT, description: 'aborted while waiting' });
      if (signal?.aborted === true) throw fail();
      const aborted = Promise.withResolvers<never>();
      const onAbort = () => aborted.reject(fail());
      signal?.addEventListener('abort', onAbort, { once: true });
      flight ??= refresh().finally(() => (flight = null));
      return Promise.race([aborted.promise, flight]).finally(() =>
        signal?.removeEventListener('abort', onAbort),
      );
    },

    invalidate(refused) {
      if (token?.accessToken !== refused) return;
      refusals = now() - token.issuedAtMs < YOUNG_MS ? refusals + 1 : 0;
      // The contract allows one immediate replacement; space further requests more and more.
      if (refusals > 1) holdOffFor(refusals - 1, 'the store refuses tokens just after it issued them');
      refusedToken = refused;
      token = null;
    },

    async retryCredentials() {
      // A refusal still on its way would begin another lockout.
      const over = sleep(RELEASE_WAIT_MS, undefined, { ref: false });
      if (flight !== null) await Promise.race([flight.catch(() => undefined), over]);
      await adoptFile();
      lockout = null;
      await writeFile();
    },
  };
}

/** A clock set back to before the pause began ends the pause. */
function remainingMs(pause: TokenState['pause'], nowMs: number): number {
  return pause === null || nowMs < pause.fromMs ? 0 : Math.max(0, pause.untilMs - nowMs);
}
