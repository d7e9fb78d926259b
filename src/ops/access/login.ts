/** A person signs in once with the token; the browser then holds a session. */
import { Hono, type Context } from 'hono';
import { deleteCookie, setCookie } from 'hono/cookie';
import type { Logger } from '../../platform/log.ts';
import type { OpsEnv } from '../shared/env.ts';
import { Attempts } from './attempts.ts';
import { loginPage } from './login-page.ts';
import { SESSION_MS } from './session.ts';
import { CSS, styleSheet } from '../../web/files.ts';
import { signedInBy, type Lock } from './signed-in.ts';

interface LoginDeps {
  /** Null: no token is configured, so no sign-in is needed. */
  readonly lock: Lock | null;
  /** Epoch ms. */
  readonly now: () => number;
  readonly log: Logger;
}

/** `GET` and `POST /login`, `POST /logout`: open without a session. */
export function loginRoutes({ lock, now, log }: LoginDeps): Hono<OpsEnv> {
  const app = new Hono<OpsEnv>();
  const attempts = new Attempts(now);

  app.get('/login.css', (c) =>
    c.body(styleSheet(['colours.css', 'login.css']), 200, {
      'Content-Type': CSS,
      'Cache-Control': 'public, max-age=3600',
    }),
  );

  app.get('/login', (c) => {
    const next = ownPath(c.req.query('next'));
    return signedInBy(c, lock) === null ? c.html(loginPage({ next, problem: null })) : c.redirect(next, 303);
  });

  app.post('/login', async (c) => {
    const form = new URLSearchParams(await c.req.text());
    const next = ownPath(form.get('next'));
    if (lock === null) return c.redirect(next, 303);
    const address = addressOf(c);
    const waitMs = attempts.waitMs(address);
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000);
      c.header('Retry-After', String(seconds));
      return c.html(loginPage({ next, problem: `Too many wrong tokens. Try again in ${seconds} s.` }), 429);
    }
    if (!lock.isToken((form.get('token') ?? '').trim())) {
      attempts.failed(address);
      log.warn({ address }, 'sign-in to the private listener refused: wrong token');
      return c.html(loginPage({ next, problem: 'The token is wrong.' }), 401);
    }
    setCookie(c, lock.sessions.cookieName, lock.sessions.begin(), {
      ...COOKIE,
      maxAge: SESSION_MS / 1000,
    });
    return c.redirect(next, 303);
  });

  app.post('/logout', (c) => {
    if (lock !== null && signedInBy(c, lock) === 'session') deleteCookie(c, lock.sessions.cookieName, COOKIE);
    return c.redirect('/login', 303);
  });
  return app;
}

/** Not `Secure`: the listener speaks plain http, and a browser would drop the cookie. */
const COOKIE = { httpOnly: true, sameSite: 'Strict', path: '/' } as const;

/** Only a path of this listener: a link to the form must not lead elsewhere. */
function ownPath(asked: string | null | undefined): string {
  if (asked === null || asked === undefined || !/^\/(?![/\\])[\x21-\x7e]*$/.test(asked)) return '/';
  const here = 'http://127.0.0.1';
  const url = URL.canParse(asked, here) ? new URL(asked, here) : null;
  return url === null || url.origin !== here ? '/' : url.pathname + url.search;
}

function addressOf(c: Context<OpsEnv>): string {
  return c.env?.incoming?.socket?.remoteAddress ?? 'unknown';
}
