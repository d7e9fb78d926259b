/** Access tokens: one for all calls, requested as rarely as possible (docs/store-api.md#authentication). */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../platform/thrown.ts';
import { fullJitterMs } from '../backoff.ts';
import { ServiceError, summary } from '../transport/errors.ts';
import type { Credentials } from './credentials.ts';
import type { IssuedToken, Lockout, TokenFile, TokenState } from './token-file.ts';
import { requestToken, TOKEN_ENDPOINT } from './token-request.ts';
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
  /** Lifts the lockout, here and in other processes. Rejects if there is one and the file cannot be written. */
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

/** The present state of this process. */
type State =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'token'; readonly token: IssuedToken }
  | {
      readonly kind: 'lockout';
      readonly lockout: Lockout;
      /** false while it could not be written: the file then cannot show that another process lifted it. */
      readonly isInFile: boolean;
    };

interface Pause {
  readonly fromMs: number;
  readonly untilMs: number;
}

export function createTokenProvider(deps: TokenProviderDeps): TokenProvider {
  const { transport, credentials, file, now, random, newRequestId } = deps;
  /** Machines that share the credentials, and were started together, must not all ask within one minute. */
  const earliness = 1 + random();
  /** Five to ten minutes early, or when 80 to 90 % of a short life is over. */
  const refreshAtMs = ({ issuedAtMs, expiresAtMs }: IssuedToken): number =>
    expiresAtMs - earliness * Math.min(5 * 60_000, (expiresAtMs - issuedAtMs) / 10);

  let state: State = { kind: 'nothing' };
  /** The last token that the store refused, and how many in a row were refused when young. */
  let refused: { readonly accessToken: string; readonly youngInARow: number } | null = null;
  /** At the store's request; shared with other processes. */
  let slowDown: Pause | null = null;
  /** After failures of this process. */
  let holdOff: (Pause & { readonly reason: string }) | null = null;
  let failures = 0;
  /** The request that all callers share. */
  let flight: Promise<string> | null = null;

  /** Takes over what other processes wrote. Resolves with false if the file cannot be read. */
  async function adoptFile(): Promise<boolean> {
    try {
      const inFile = await file.read();
      if (inFile === null) return true;
      state = newerOf(state, inFile, refused?.accessToken ?? null);
      slowDown = inFile.pause ?? slowDown;
      return true;
    } catch (error) {
      deps.onFileError(error);
      return false;
    }
  }

  async function writeFile(): Promise<void> {
    const written = state;
    await file.write({
      token: written.kind === 'token' ? written.token : null,
      lockout: written.kind === 'lockout' ? written.lockout : null,
      pause: slowDown,
    });
    if (written.kind === 'lockout' && state === written) state = { ...written, isInFile: true };
  }

  async function saveFile(): Promise<void> {
    try {
      await writeFile();
    } catch (error) {
      deps.onFileError(error);
    }
  }

  async function refresh(): Promise<string> {
    await adoptFile();
    if (state.kind === 'lockout') {
      if (!state.isInFile) await saveFile();
      throw lockedOut(state.lockout);
    }
    if (state.kind === 'token' && now() < refreshAtMs(state.token)) return state.token.accessToken;
    try {
      failWhilePaused();
      return await request();
    } catch (error) {
      if (state.kind === 'token' && now() < state.token.expiresAtMs) return state.token.accessToken;
      throw error;
    }
  }

  async function request(): Promise<string> {
    let token: IssuedToken;
    try {
      token = await requestToken(transport, credentials, newRequestId(), now());
    } catch (error) {
      await noteFailure(error);
      throw error;
    }
    state = { kind: 'token', token };
    failures = 0;
    await saveFile();
    return token.accessToken;
  }

  async function noteFailure(error: unknown): Promise<void> {
    const atMs = now();
    if (error instanceof ServiceError && error.kind === 'credentials') {
      const lockout = { atMs, description: error.description, requestId: error.requestId ?? null };
      state = { kind: 'lockout', lockout, isInFile: false };
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
    failDuring(slowDown, 'rate_limited', 'the store asked for a pause between token requests');
    failDuring(holdOff, 'unavailable', `waiting after a failed token request: ${holdOff?.reason}`);
  }

  function failDuring(pause: Pause | null, kind: 'rate_limited' | 'unavailable', description: string): void {
    const retryAfterMs = remainingMs(pause, now());
    if (retryAfterMs > 0)
      throw new ServiceError({ kind, endpoint: TOKEN_ENDPOINT, description, retryAfterMs });
  }

  return {
    async getToken({ signal } = {}) {
      if (state.kind === 'token' && now() < refreshAtMs(state.token)) return state.token.accessToken;
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

    invalidate(accessToken) {
      if (state.kind !== 'token' || state.token.accessToken !== accessToken) return;
      const isYoung = now() - state.token.issuedAtMs < YOUNG_MS;
      const youngInARow = isYoung ? (refused?.youngInARow ?? 0) + 1 : 0;
      // The contract allows one immediate replacement; space further requests more and more.
      if (youngInARow > 1) holdOffFor(youngInARow - 1, 'the store refuses tokens just after it issued them');
      refused = { accessToken, youngInARow };
      state = { kind: 'nothing' };
    },

    async retryCredentials() {
      // A refusal still on its way would begin another lockout.
      const over = sleep(RELEASE_WAIT_MS, undefined, { ref: false });
      if (flight !== null) await Promise.race([flight.catch(() => undefined), over]);
      const isFileKnown = await adoptFile();
      if (isFileKnown && state.kind !== 'lockout') return;
      if (state.kind === 'lockout') state = { kind: 'nothing' };
      await writeFile();
    },
  };
}

/** The state after another process may have written `inFile`. */
function newerOf(state: State, inFile: TokenState, refusedToken: string | null): State {
  if (state.kind === 'lockout' && !state.isInFile) return state;
  if (inFile.lockout !== null) return { kind: 'lockout', lockout: inFile.lockout, isInFile: true };
  const { token } = inFile;
  if (token === null || token.accessToken === refusedToken) {
    return state.kind === 'lockout' ? { kind: 'nothing' } : state;
  }
  return state.kind === 'token' && state.token.expiresAtMs >= token.expiresAtMs
    ? state
    : { kind: 'token', token };
}

/** A clock set back to before the pause began ends the pause. */
function remainingMs(pause: Pause | null, nowMs: number): number {
  return pause === null || nowMs < pause.fromMs ? 0 : Math.max(0, pause.untilMs - nowMs);
}

function lockedOut({ atMs, description, requestId }: Lockout): ServiceError {
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
