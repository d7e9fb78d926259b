/** Programs send a token with each request; people sign in once, and the browser holds a session. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { html } from 'hono/html';
import type { Logger } from '../../platform/log.ts';
import { errorBody } from '../shared/error-body.ts';
import { addressOf, isSafe, wantsPage, type OpsEnv, type SignedInBy } from '../shared/env.ts';
import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';

export interface SignInDeps {
  readonly token: string | null;
  readonly readToken: string | null;
  readonly now: () => number;
  readonly log: Logger;
}

export const SESSION_MS = 12 * 60 * 60_000;

export class SignIn {
  /** Unique, since cookies ignore ports: two mirrors on one host must not end each other's sessions. */
  readonly #cookieName = `stock_mirror_${randomBytes(4).toString('hex')}`;
  readonly #deps: SignInDeps;
  /** Expiry by cookie value. A restart ends all sessions. */
  readonly #sessions = new Map<string, number>();

  constructor(deps: SignInDeps) {
    this.#deps = deps;
  }

  by(c: Context<OpsEnv>): SignedInBy | null {
    const { token, readToken, now } = this.#deps;
    if (token === null) return 'anyone';
    const bearer = /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1] ?? '';
    if (isSame(bearer, token)) return 'token';
    if (readToken !== null && isSame(bearer, readToken)) return 'read_token';
    return (this.#sessions.get(getCookie(c, this.#cookieName) ?? '') ?? 0) > now() ? 'session' : null;
  }

  /** @returns false if the token is wrong. Tokens are too long to be guessed, so no delay is needed. */
  begin(c: Context<OpsEnv>, typed: string): boolean {
    const { token, now, log } = this.#deps;
    if (token !== null && !isSame(typed, token)) {
      log.warn({ address: addressOf(c) }, 'sign-in to the private listener refused: wrong token');
      return false;
    }
    const nowMs = now();
    for (const [value, untilMs] of this.#sessions) if (untilMs <= nowMs) this.#sessions.delete(value);
    const value = randomBytes(24).toString('base64url');
    this.#sessions.set(value, nowMs + SESSION_MS);
    setCookie(c, this.#cookieName, value, { ...cookieFor(c), maxAge: SESSION_MS / 1_000 });
    return true;
  }

  end(c: Context<OpsEnv>): void {
    this.#sessions.delete(getCookie(c, this.#cookieName) ?? '');
    deleteCookie(c, this.#cookieName, cookieFor(c));
  }
}

/** In constant time, whatever the lengths. */
function isSame(text: string, token: string): boolean {
  const digestOf = (each: string): Buffer => createHash('sha256').update(each).digest();
  return timingSafeEqual(digestOf(text), digestOf(token));
}

/** An open session must not be enough to remove products: on the page, the token is typed again. */
export function mayAllowRemovals(
  signedInBy: SignedInBy,
  { typed, token }: { readonly typed: string; readonly token: string | null },
): boolean {
  switch (signedInBy) {
    case 'anyone':
    case 'token':
      return true;
    case 'session':
      return token !== null && isSame(typed, token);
    case 'read_token':
      return false;
  }
}

/** Over plain http, a browser would drop a `Secure` cookie. */
function cookieFor(c: Context<OpsEnv>) {
  const isTls =
    c.req.header('x-forwarded-proto') === 'https' || c.req.header('origin')?.startsWith('https:') === true;
  return { httpOnly: true, sameSite: 'Strict', path: '/', secure: isTls } as const;
}

export function loginRoutes(signIn: SignIn): Hono<OpsEnv> {
  const app = new Hono<OpsEnv>();
  app.get('/login', (c) => {
    const to = ownPath(c.req.query('to'));
    return signIn.by(c) === null ? c.html(loginPage(null, to)) : c.redirect(to, 303);
  });
  app.post('/login', async (c) => {
    const form = new URLSearchParams(await c.req.text());
    const isRight = signIn.begin(c, (form.get('token') ?? '').trim());
    const to = ownPath(form.get('to') ?? undefined);
    return isRight ? c.redirect(to, 303) : c.html(loginPage('The token is wrong.', to), 401);
  });
  app.post('/logout', (c) => {
    signIn.end(c);
    return c.redirect('/login', 303);
  });
  return app;
}

export function requireSignIn(signIn: SignIn): MiddlewareHandler<OpsEnv> {
  return async (c, next) => {
    if (c.req.path === '/readyz') return next();
    const by = signIn.by(c);
    if (by === 'read_token' && !isSafe(c)) {
      return c.json(errorBody('access_denied', 'OPS_READ_TOKEN only reads: send OPS_TOKEN'), 403);
    }
    if (by !== null) {
      c.set('signedInBy', by);
      return next();
    }
    if (isSafe(c) && wantsPage(c)) {
      const { pathname, search } = new URL(c.req.url);
      const to = `${pathname}${search}`;
      return c.redirect(to === '/' ? '/login' : `/login?${new URLSearchParams({ to }).toString()}`, 303);
    }
    c.header('WWW-Authenticate', 'Bearer');
    return c.json(errorBody('invalid_token', 'send OPS_TOKEN as a bearer token, or sign in at /login'), 401);
  };
}

/** @returns the path to show after the sign-in; never another site's. */
function ownPath(to: string | undefined): string {
  return to !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : '/';
}

/** The form has no `action`: it is sent to the address of this page, so a fragment such as `#held_removals` survives. */
function loginPage(problem: string | null, to: string): Html {
  return frame({
    title: 'Sign in',
    everyMs: null,
    message: problem === null ? '' : html`<p class="problem" role="alert">${problem}</p>`,
    main: html`<article>
      <h1>Sign in</h1>
      <form method="post">
        <input type="hidden" name="to" value="${to}" />
        <input type="text" name="username" value="operator" autocomplete="username" hidden />
        <label>
          Token
          <input name="token" type="password" autocomplete="current-password" required autofocus />
          <small>The value of <code>OPS_TOKEN</code>.</small>
        </label>
        <button>Sign in</button>
      </form>
    </article>`,
  });
}
