import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';
import { ApiError } from './errors.ts';

export type OAuth = {
  /** Of the first channel, like the secret and its replacement. */
  readonly clientId: string;
  /** The secret in force. */
  readonly clientSecret: string;
  tokenLifetimeS: number;
  /** An expired channel is answered like wrong credentials. */
  channelExpired: boolean;
  /** Adds a channel of the same store, which may request tokens from now on. */
  addChannel(clientId: string, clientSecret: string): void;
  /** Sets a new secret; the old one stays valid for another 24 hours. */
  replaceSecret(secret?: string): string;
  expireAllTokens(): void;
  /** Resets the counts of requests and failures. */
  resetLimits(): void;
};

export type TokenIssuer = OAuth & {
  /** Counts a request from this address, before its body is read. */
  admitIp(ip: string): void;
  issue(form: { grantType: string; clientId: string; clientSecret: string; ip: string }): {
    access_token: string;
    token_type: 'Bearer';
    expires_in: number;
  };
  /** The client id of the channel that a valid token identifies. */
  channelOf(token: string): string | undefined;
};

const MINUTE_MS = 60_000;
const PER_CLIENT = { requests: 10, withinMs: MINUTE_MS };
const PER_IP = { requests: 60, withinMs: MINUTE_MS };
const FAILURES = { requests: 10, withinMs: 5 * MINUTE_MS };
const BLOCK_MS = 15 * MINUTE_MS;
const OLD_SECRET_MS = 24 * 60 * MINUTE_MS;
const TOKENS_KEPT = 10_000;

/** Issues and checks tokens, within the documented limits ("Authentication" 2-6). */
export function createTokenIssuer(deps: {
  clock: Clock;
  clientId: string;
  clientSecret: string;
  tokenLifetimeS: number;
}): TokenIssuer {
  const { clock, clientId } = deps;
  // Durations use the base clock: stepping the store's clock must not lift a block.
  const now = (): number => clock.baseNow();
  let secret = deps.clientSecret;
  let oldSecrets: { secret: string; untilMs: number }[] = [];
  const others = new Map<string, string>();
  const tokens = new Map<string, { clientId: string; untilMs: number }>();
  const requests = createWindows();
  const failures = createWindows();
  const blocks = new Map<string, number>();

  const slowDown = (untilMs: number, why: string): ApiError =>
    new ApiError(429, 'slow_down', why, {
      'Retry-After': String(Math.max(1, Math.ceil((untilMs - now()) / 1_000))),
    });

  const admit = (key: string, limit: typeof PER_CLIENT): void => {
    // The contract does not say how a blocked caller is answered; slow_down with the rest of the block makes a
    // well-behaved client wait.
    const blockedUntilMs = blocks.get(key) ?? 0;
    if (blockedUntilMs > now())
      throw slowDown(blockedUntilMs, 'blocked after too many failed authentications');
    const times = requests.within(key, now() - limit.withinMs);
    if (times.length >= limit.requests) throw slowDown(times[0]! + limit.withinMs, 'too many token requests');
    times.push(now());
  };

  const fail = (keys: readonly string[]): void => {
    const counts = keys.map((key) => failures.within(key, now() - FAILURES.withinMs).push(now()));
    if (counts.some((count) => count >= FAILURES.requests)) {
      for (const key of keys) blocks.set(key, now() + BLOCK_MS);
    }
  };

  const matches = (id: string, candidate: string): boolean => {
    if (id !== clientId) return others.get(id) === candidate;
    if (issuer.channelExpired) return false;
    oldSecrets = oldSecrets.filter((old) => old.untilMs > now());
    return candidate === secret || oldSecrets.some((old) => old.secret === candidate);
  };

  const issuer: TokenIssuer = {
    clientId,
    get clientSecret() {
      return secret;
    },
    tokenLifetimeS: deps.tokenLifetimeS,
    channelExpired: false,
    addChannel: (id, clientSecret) => {
      others.set(id, clientSecret);
    },
    replaceSecret: (next = randomBytes(24).toString('base64url')) => {
      oldSecrets.push({ secret, untilMs: now() + OLD_SECRET_MS });
      secret = next;
      return next;
    },
    expireAllTokens: () => {
      tokens.clear();
    },
    resetLimits: () => {
      requests.clear();
      failures.clear();
      blocks.clear();
    },
    admitIp: (ip) => {
      admit(`ip ${ip}`, PER_IP);
    },
    issue: (form) => {
      const clientKey = `client ${form.clientId}`;
      admit(clientKey, PER_CLIENT);
      if (form.grantType !== 'client_credentials') {
        throw new ApiError(400, 'unsupported_grant_type', 'grant_type must be client_credentials');
      }
      if (!matches(form.clientId, form.clientSecret)) {
        fail([clientKey, `ip ${form.ip}`]);
        throw new ApiError(401, 'invalid_client', 'the client credentials were rejected');
      }
      if (tokens.size >= TOKENS_KEPT) tokens.delete(tokens.keys().next().value!);
      const token = randomBytes(32).toString('base64url');
      tokens.set(token, { clientId: form.clientId, untilMs: now() + issuer.tokenLifetimeS * 1_000 });
      return { access_token: token, token_type: 'Bearer', expires_in: issuer.tokenLifetimeS };
    },
    channelOf: (token) => {
      const found = tokens.get(token);
      if (found === undefined || found.untilMs > now()) return found?.clientId;
      tokens.delete(token);
      return undefined;
    },
  };
  return issuer;
}

/** Times of recent events by key. */
function createWindows() {
  const byKey = new Map<string, number[]>();
  return {
    within: (key: string, sinceMs: number): number[] => {
      // Invented client ids must not fill the memory: forgetting all counts is better than growing.
      if (byKey.size > 10_000) byKey.clear();
      const times = (byKey.get(key) ?? []).filter((time) => time > sinceMs);
      byKey.set(key, times);
      return times;
    },
    clear: () => {
      byKey.clear();
    },
  };
}
