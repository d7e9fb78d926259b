/** Who may enter the private listener, whatever it shows behind that. */
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { refuseCrossSite, requireJson } from './cross-site.ts';
import { securityHeaders } from './headers.ts';
import { refuseForeignHost } from './host.ts';
import { loginRoutes } from './login.ts';
import { refuseMethods } from './methods.ts';
import { createSessions } from './session.ts';
import { requireSignIn, type Lock } from './signed-in.ts';
import { compareWith } from './token.ts';
import { errorBody } from '../shared/api-error.ts';
import type { OpsEnv } from '../shared/env.ts';
import type { Logger } from '../../platform/log.ts';

interface GuardedDeps {
  /** Bearer token; null: none is required. */
  readonly token: string | null;
  readonly now: () => number;
  readonly log: Logger;
}

const MAX_BODY_BYTES = 1 << 20;

/** What is routed in it afterwards requires a sign-in; `c.get('signedInBy')` tells handlers which kind. */
export function createGuardedApp({ token, now, log }: GuardedDeps): Hono<OpsEnv> {
  const lock: Lock | null =
    token === null ? null : { isToken: compareWith(token), sessions: createSessions(token, now) };
  const app = new Hono<OpsEnv>();
  const tooLarge = (c: Context) => c.json(errorBody('invalid_request', 'the body is larger than 1 MB'), 413);
  app.use(securityHeaders);
  if (lock === null) app.use(refuseForeignHost);
  app.use(refuseCrossSite, bodyLimit({ maxSize: MAX_BODY_BYTES, onError: tooLarge }));
  app.route('/', loginRoutes({ lock, now, log }));
  app.use(requireSignIn(lock), refuseMethods(app));
  app.use('/api/*', requireJson);
  return app;
}
