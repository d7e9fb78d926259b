/** Programs send the token with each request; a person signs in with it once, and the browser then holds a session. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Logger } from '../../platform/log.ts';
import { CSS, styleSheet } from '../../web/files.ts';
import { errorBody } from '../shared/api-error.ts';
import { addressOf, type OpsEnv, type SignedInBy } from '../shared/env.ts';
import { loginPage } from './login-page.ts';

export interface SignInDeps {
  /** `OPS_TOKEN`; null: none is required. */
  readonly token: string | null;
  /** Epoch ms. */
  readonly now: () => number;
  readonly log: Logger;
}

export const SESSION_MS = 12 * 60 * 60_000;
/** Slows guessing. The right token is never delayed or refused, so guesses cannot lock anybody out. */
const WRONG_TOKEN_DELAY_MS = 500;
const DELAYED_AT_ONCE = 20;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

export class SignIn {
  /** Cookies ignore ports: the name is unique, so that two mirrors on one host do not end each other's sessions. */
  readonly cookieName = `stock_mirror_${randomBytes(4).toString('hex')}`;
  readonly #deps: SignInDeps;
  readonly #token: Buffer | null;
  /** Expiry by the digest of a cookie's value. A restart of the process ends all sessions. */
  readonly #sessions = new Map<string, number>();
  #delayed = 0;

  constructor(deps: SignInDeps) {
    this.#deps = deps;
    this.#token = deps.token === null ? null : digest(deps.token);
  }

  get isRequired(): boolean {
    return this.#token !== null;
  }

  /** @returns null if the request is not signed in. */
  by(c: Context<OpsEnv>): SignedInBy | null {
    if (!this.isRequired) return 'anyone';
    const bearer = /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
    if (bearer !== undefined && this.isToken(bearer)) return 'token';
    return (this.#sessions.get(this.#keyOf(c)) ?? 0) > this.#deps.now() ? 'session' : null;
  }

  isToken(text: string): boolean {
    return this.#token !== null && timingSafeEqual(digest(text), this.#token);
  }

  begin(c: Context<OpsEnv>): void {
    const nowMs = this.#deps.now();
    for (const [key, untilMs] of this.#sessions) if (untilMs <= nowMs) this.#sessions.delete(key);
    const value = randomBytes(24).toString('base64url');
    this.#sessions.set(digest(value).toString('hex'), nowMs + SESSION_MS);
    setCookie(c, this.cookieName, value, { ...cookieFor(c), maxAge: SESSION_MS / 1_000 });
  }

  end(c: Context<OpsEnv>): void {
    if (this.#sessions.delete(this.#keyOf(c))) deleteCookie(c, this.cookieName, cookieFor(c));
  }

  /** @returns false at once if too many guesses wait already. */
  async delayWrongToken(address: string): Promise<boolean> {
    if (this.#delayed >= DELAYED_AT_ONCE) return false;
    this.#deps.log.warn({ address }, 'sign-in to the private listener refused: wrong token');
    this.#delayed += 1;
    await wait(WRONG_TOKEN_DELAY_MS);
    this.#delayed -= 1;
    return true;
  }

  #keyOf(c: Context<OpsEnv>): string {
    return digest(getCookie(c, this.cookieName) ?? '').toString('hex');
  }
}

/** `Secure` where the browser or the proxy says that TLS was used: over plain http a browser would drop the cookie. */
function cookieFor(c: Context<OpsEnv>) {
  const isTls =
    c.req.header('x-forwarded-proto') === 'https' || c.req.header('origin')?.startsWith('https:') === true;
  return { httpOnly: true, sameSite: 'Strict', path: '/', secure: isTls } as const;
}

/** `GET` and `POST /login`, `POST /logout`: open without a session. */
export function loginRoutes(signIn: SignIn): Hono<OpsEnv> {
  const app = new Hono<OpsEnv>();
  app.get('/login.css', (c) =>
    c.body(styleSheet(['colours.css', 'login.css']), 200, {
      'Content-Type': CSS,
      'Cache-Control': 'public, max-age=3600',
    }),
  );
  app.get('/login', (c) => (signIn.by(c) === null ? c.html(loginPage(null)) : c.redirect('/', 303)));
  app.post('/login', async (c) => {
    const form = new URLSearchParams(await c.req.text());
    if (!signIn.isRequired) return c.redirect('/', 303);
    if (signIn.isToken((form.get('token') ?? '').trim())) {
      signIn.begin(c);
      return c.redirect('/', 303);
    }
    if (await signIn.delayWrongToken(addressOf(c))) return c.html(loginPage('The token is wrong.'), 401);
    c.header('Retry-After', '1');
    return c.html(loginPage('Too many wrong tokens at once. Try again.'), 429);
  });
  app.post('/logout', (c) => {
    signIn.end(c);
    return c.redirect('/login', 303);
  });
  return app;
}

/** Refuses requests that are not signed in: people get the form, programs an error. */
export function requireSignIn(signIn: SignIn): MiddlewareHandler<OpsEnv> {
  return async (c, next) => {
    const by = signIn.by(c);
    if (by !== null) {
      c.set('signedInBy', by);
      return next();
    }
    const accepted = (c.req.header('accept') ?? '').split(',');
    if (
      ['GET', 'HEAD'].includes(c.req.method) &&
      accepted.some((type) => type.trim().startsWith('text/html'))
    ) {
      return c.redirect('/login', 303);
    }
    c.header('WWW-Authenticate', 'Bearer');
    return c.json(errorBody('invalid_token', 'send OPS_TOKEN as a bearer token, or sign in at /login'), 401);
  };
}
