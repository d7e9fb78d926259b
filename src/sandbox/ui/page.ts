import { Hono } from 'hono';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { pageFiles } from '../../web/files.ts';
import type { ApiEnv } from '../api/api.ts';
import { ApiError } from '../shared/errors.ts';
import { actions } from './actions.ts';
import type { PageDeps } from './deps.ts';
import { readForm } from './form.ts';
import { pageHeaders, refuseForeignForms, refuseForeignHost } from './guard.ts';
import { INSPECTOR_PATHS, inspector } from './inspector.ts';
import { layout } from './layout.ts';
import type { PageContent } from './layout.ts';
import { noticeOf, problemOf } from './notices.ts';
import { addressOf, readView } from './view.ts';
import type { Refused } from './view.ts';

/** `GET /`, the page for people, and its forms. It works without scripts: a form is answered by a redirect. */
export function createPage(deps: PageDeps): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  for (const path of ['/', '/page/*', ...INSPECTOR_PATHS])
    app.use(path, pageHeaders, refuseForeignHost, refuseForeignForms);

  const show = (context: Context<ApiEnv>, refused?: Refused) => {
    const { searchParams, origin } = new URL(context.req.url);
    const view = readView(searchParams);
    deps.onShown();
    const content: PageContent = {
      view,
      refused,
      baseUrl: origin,
      notice: refused === undefined ? noticeOf(deps, searchParams, view) : undefined,
      problem: refused && problemOf(refused.message),
    };
    // The page is current only now, and contains secrets.
    context.header('Cache-Control', 'no-store');
    return context.html(layout(deps, content), refused === undefined ? 200 : 400);
  };

  app.get('/', (context) => show(context));
  app.route('/', pageFiles<ApiEnv>('store.css'));
  app.route('/', inspector(deps));

  for (const [name, act] of Object.entries(actions)) {
    app.post(`/page/${name}`, async (context) => {
      const form = await readForm(context);
      try {
        const done = act(deps, form);
        return context.redirect(addressOf('/', readView(new URL(context.req.url).searchParams), done), 303);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return show(context, { action: name, form, message: error.message });
      }
    });
    // The address that a reload of a refused form opens.
    app.get(`/page/${name}`, (context) =>
      context.redirect(addressOf('/', readView(new URL(context.req.url).searchParams)), 303),
    );
  }

  app.onError((error, context) => {
    if (error instanceof ApiError) return context.text(`${error.message}\n`, error.status);
    if (error instanceof HTTPException) {
      return context.text('Forms of other sites are refused: use the forms of this page.\n', 403);
    }
    throw error;
  });
  return app;
}
