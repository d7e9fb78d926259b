import { randomBytes } from 'node:crypto';
import type { Clock } from '../world/clock.ts';
import { dropOldest } from '../world/drop-oldest.ts';
import { ApiError } from '../shared/errors.ts';

interface TokenForm {
  readonly grantType: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly ip: string;
}

const MINUTE_MS = 60_000;
const PER_CLIENT = { requests: 10, withinMs: MINUTE_MS };
const PER_IP = { requests: 60, withinMs: MINUTE_MS };
const FAILURES = { requests: 10, withinMs: 5 * MINUTE_MS };
const BLOCK_MS = 15 * MINUTE_MS;
const OLD_SECRET_MS = 24 * 60 * MINUTE_MS;
const TOKEN_LIFETIME_S = 14_400;
const TOKENS_KEPT = 10_000;

/** Issues and checks tokens, within the documented limits ("Authentication" 2-6). */
export class TokenIssuer {
  /** Of the first channel, like the secret and its replacement. */
  readonly clientId: string;
  /** An expired channel is answered like wrong credentials. */
  channelExpired = false;
  readonly #clock: Clock;
  #secret: string;
  #oldSecrets: { readonly secret: string; readonly untilMs: number }[] = [];
  readonly #others = new Map<string, string>();
  readonly #tokens = new Map<string, { readonly clientId: string; readonly untilMs: number }>();
  readonly #requests = new Windows();
  readonly #failures = new Windows();
  readonly #blocks = new Map<string, number>();

  constructor(clock: Clock, clientId: string, clientSecret: string) {
    this.#clock = clock;
    this.clientId = clientId;
    this.#secret = clientSecret;
  }

  /** The secret in force. */
  get clientSecret(): string {
    return this.#secret;
  }

  /** Adds a channel of the same store, which may request tokens from now on. */
  addChannel(clientId: string, clientSecret: string): void {
    this.#others.set(clientId, clientSecret);
  }

  /** Sets a new secret; the old one stays valid for another 24 hours. */
  replaceSecret(secret = randomBytes(24).toString('base64url')): string {
    this.#oldSecrets.push({ secret: this.#secret, untilMs: this.#now() + OLD_SECRET_MS });
    this.#secret = secret;
    return secret;
  }

  expireAllTokens(): void {
    this.#tokens.clear();
  }

  /** Counts a request from this address, before its body is read. */
  admitIp(ip: string): void {
    this.#admit(`ip ${ip}`, PER_IP);
  }

  issue(form: TokenForm) {
    const clientKey = `client ${form.clientId}`;
    this.#admit(clientKey, PER_CLIENT);
    if (form.grantType !== 'client_credentials') {
      throw new ApiError(400, 'unsupported_grant_type', 'grant_type must be client_credentials');
    }
    if (!this.#matches(form.clientId, form.clientSecret)) {
      this.#fail([clientKey, `ip ${form.ip}`]);
      throw new ApiError(401, 'invalid_client', 'the client credentials were rejected');
    }
    if (this.#tokens.size >= TOKENS_KEPT) dropOldest(this.#tokens);
    const token = randomBytes(32).toString('base64url');
    const untilMs = this.#now() + TOKEN_LIFETIME_S * 1_000;
    this.#tokens.set(token, { clientId: form.clientId, untilMs });
    return { access_token: token, token_type: 'Bearer', expires_in: TOKEN_LIFETIME_S };
  }

  /** The client id of the channel that a valid token identifies. */
  channelOf(token: string): string | undefined {
    const found = this.#tokens.get(token);
    return found === undefined || found.untilMs <= this.#now() ? undefined : found.clientId;
  }

  /** Durations use the base clock: stepping the store's clock must not lift a block. */
  #now(): number {
    return this.#clock.baseNow();
  }

  #admit(key: string, limit: typeof PER_CLIENT): void {
    // The contract does not say how a blocked caller is answered; slow_down with the rest of the block makes a
    // well-behaved client wait.
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

  #matches(id: string, candidate: string): boolean {
    if (id !== this.clientId) return this.#others.get(id) === candidate;
    if (this.channelExpired) return false;
    this.#oldSecrets = this.#oldSecrets.filter((old) => old.untilMs > this.#now());
    return candidate === this.#secret || this.#oldSecrets.some((old) => old.secret === candidate);
  }
}

/** Times of recent events by key. */
class Windows {
  readonly #byKey = new Map<string, number[]>();

  within(key: string, sinceMs: number): number[] {
    // Invented client ids must not fill the memory: forgetting all counts is better than growing.
    if (this.#byKey.size > 10_000) this.#byKey.clear();
    const times = (this.#byKey.get(key) ?? []).filter((time) => time > sinceMs);
    this.#byKey.set(key, times);
    return times;
  }
}
