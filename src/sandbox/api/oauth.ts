/** `POST /oauth/token`: issues and checks tokens within the documented limits ("Authentication" 2-5). */
import { randomBytes } from 'node:crypto';
import { ApiError } from '../shared/errors.ts';
import type { Clock } from '../world/clock.ts';

/** Other fields are refused ("Conventions" 5), as are empty and repeated ones. */
const FIELDS = ['grant_type', 'client_id', 'client_secret'] as const;

interface TokenRequest {
  readonly raw: Buffer;
  readonly contentType: string | undefined;
  readonly ip: string;
}

const MINUTE_MS = 60_000;
const PER_CLIENT = { requests: 10, withinMs: MINUTE_MS };
const PER_IP = { requests: 60, withinMs: MINUTE_MS };
const FAILURES = { requests: 10, withinMs: 5 * MINUTE_MS };
const BLOCK_MS = 15 * MINUTE_MS;
const TOKEN_LIFETIME_S = 14_400;

export class TokenIssuer {
  channelExpired = false;
  readonly #clock: Clock;
  /** By client id. */
  readonly #secrets = new Map<string, string>();
  /** When each token expires. */
  readonly #tokens = new Map<string, number>();
  readonly #requests = new Windows();
  readonly #failures = new Windows();
  readonly #blocks = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  addChannel(clientId: string, clientSecret: string): void {
    this.#secrets.set(clientId, clientSecret);
  }

  expireAllTokens(): void {
    this.#tokens.clear();
  }

  admitIp(ip: string): void {
    this.#admit(`ip ${ip}`, PER_IP);
  }

  issue({ raw, contentType, ip }: TokenRequest) {
    const { grant_type: grantType, client_id: clientId, client_secret: secret } = readForm(raw, contentType);
    const clientKey = `client ${clientId}`;
    this.#admit(clientKey, PER_CLIENT);
    if (grantType !== 'client_credentials') {
      throw new ApiError(400, 'unsupported_grant_type', 'grant_type must be client_credentials');
    }
    if (this.channelExpired || this.#secrets.get(clientId) !== secret) {
      this.#fail([clientKey, `ip ${ip}`]);
      throw new ApiError(401, 'invalid_client', 'the client credentials were rejected');
    }
    const token = randomBytes(32).toString('base64url');
    this.#tokens.set(token, this.#now() + TOKEN_LIFETIME_S * 1_000);
    return { access_token: token, token_type: 'Bearer', expires_in: TOKEN_LIFETIME_S };
  }

  accepts(token: string): boolean {
    return (this.#tokens.get(token) ?? -Infinity) > this.#now();
  }

  /** The base clock: stepping the store's clock must not lift a block. */
  #now(): number {
    return this.#clock.baseNow();
  }

  #admit(key: string, limit: typeof PER_CLIENT): void {
    // The contract leaves this answer open; Retry-After makes a well-behaved client wait.
    const blockedUntilMs = this.#blocks.get(key) ?? 0;
    if (blockedUntilMs > this.#now()) {
      throw this.#slowDown(blockedUntilMs, 'blocked after too many failed authentications');
    }
    const times = this.#requests.within(key, this.#now() - limit.withinMs);
    const [oldestMs = this.#now()] = times;
    if (times.length >= limit.requests) {
      throw this.#slowDown(oldestMs + limit.withinMs, 'too many token requests');
    }
    times.push(this.#now());
  }

  #slowDown(untilMs: number, why: string): ApiError {
    return new ApiError(429, 'slow_down', why, {
      'Retry-After': String(Math.max(1, Math.ceil((untilMs - this.#now()) / 1_000))),
    });
  }

  #fail(keys: readonly string[]): void {
    const nowMs = this.#now();
    const counts = keys.map((key) => this.#failures.within(key, nowMs - FAILURES.withinMs).push(nowMs));
    if (counts.some((count) => count >= FAILURES.requests)) {
      for (const key of keys) this.#blocks.set(key, nowMs + BLOCK_MS);
    }
  }
}

class Windows {
  readonly #byKey = new Map<string, number[]>();

  within(key: string, sinceMs: number): number[] {
    // Invented client ids must not fill the memory.
    if (this.#byKey.size > 10_000) this.#byKey.clear();
    const times = (this.#byKey.get(key) ?? []).filter((time) => time > sinceMs);
    this.#byKey.set(key, times);
    return times;
  }
}

function readForm(raw: Buffer, contentType = ''): Record<(typeof FIELDS)[number], string> {
  const refuse = (description: string): never => {
    throw new ApiError(400, 'invalid_request', description);
  };
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType)) {
    refuse('Content-Type must be application/x-www-form-urlencoded');
  }
  const form = new URLSearchParams(raw.toString('utf8'));
  for (const field of form.keys()) {
    if (!(FIELDS as readonly string[]).includes(field)) refuse(`${field}: unknown field`);
  }
  const only = (field: string): string => {
    const [value, ...more] = form.getAll(field);
    if (more.length > 0) return refuse(`${field}: sent more than once`);
    return value || refuse(`${field}: required`);
  };
  return {
    grant_type: only('grant_type'),
    client_id: only('client_id'),
    client_secret: only('client_secret'),
  };
}
