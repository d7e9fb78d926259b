/** Single webhooks and API calls, each on a page of its own. */
import { Hono } from 'hono';
import type { Context } from 'hono';
import { html } from 'hono/html';
import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';
import { toldView, type Problem } from '../../web/told.ts';
import type { ApiEnv } from '../api/api.ts';
import { replaySchema } from '../control/control.ts';
import { ApiError } from '../shared/errors.ts';
import { callPage, callsPage, readCallsView } from './calls-view.ts';
import type { PageDeps } from './deps.ts';
import { checked, readForm, text } from './form.ts';
import { problemOf } from './notices.ts';
import { webhookPage } from './webhook-page.ts';

const EVERY_MS = 1_000;

/** The addresses of these pages, for the guards of all pages. */
export const INSPECTOR_PATHS = ['/calls', '/calls/*', '/webhooks/*'] as const;

export function inspector(deps: PageDeps): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();

  const show = (
    context: Context<ApiEnv>,
    page: {
      readonly title: string;
      readonly main: Html;
      readonly problem?: Problem;
      readonly at?: string;
    },
    status: 200 | 400 | 404 = 200,
  ) => {
    deps.onShown();
    context.header('Cache-Control', 'no-store');
    return context.html(
      frame({
        title: `${page.title}: simulated store`,
        server: 'The sandbox',
        everyMs: EVERY_MS,
        refresh: page.at ?? null,
        reloadAfterS: null,
        skip: { to: 'main', words: 'Skip to the content' },
        body: html`<header class="top">
            <h1>Simulated store</h1>
            <nav aria-label="Other pages">
              <a href="/">Store</a> <a href="/#webhooks">Webhooks</a> <a href="/calls">API calls</a>
            </nav>
          </header>
          ${toldView(null, page.problem ?? null)}
          <main id="main" class="alone">${page.main}</main>`,
      }),
      status,
    );
  };
  const nothing = (context: Context<ApiEnv>, words: string) =>
    show(context, { title: 'Not there', main: html`<section><p>${words}</p></section>` }, 404);

  app.get('/calls', (context) =>
    show(context, {
      title: 'API calls',
      main: callsPage(deps, readCallsView(new URL(context.req.url).searchParams)),
    }),
  );
  app.get('/calls/:id', (context) => {
    const call = deps.calls.find(Number(context.req.param('id')));
    if (call === undefined) return nothing(context, 'This call is not kept any more.');
    const main = callPage(deps, call, new URL(context.req.url).origin);
    return show(context, { title: `${call.method} call ${call.id}`, main });
  });

  const showWebhook = (
    context: Context<ApiEnv>,
    requestId: string,
    refused?: { url: string; words: string },
  ) => {
    const records = deps.deliveries.records.filter(({ delivery }) => delivery.requestId === requestId);
    const [first] = records;
    if (first === undefined) return nothing(context, 'This webhook is not kept any more.');
    const main = webhookPage(deps, { records, delivery: first.delivery, url: refused?.url });
    return show(
      context,
      {
        title: 'Webhook',
        main,
        at: `/webhooks/${encodeURIComponent(requestId)}`,
        ...(refused === undefined ? {} : { problem: problemOf(refused.words) }),
      },
      refused === undefined ? 200 : 400,
    );
  };
  app.get('/webhooks/:id', (context) => showWebhook(context, context.req.param('id')));
  app.post('/page/replay', async (context) => {
    const form = await readForm(context);
    const asked = { request_id: text(form, 'request_id'), url: text(form, 'url') };
    try {
      const { request_id: requestId, url } = checked(replaySchema, asked);
      await deps.replays.send(requestId, url);
      return context.redirect(`/webhooks/${encodeURIComponent(requestId)}`, 303);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return showWebhook(context, asked.request_id, { url: asked.url, words: error.message });
    }
  });
  app.get('/page/replay', (context) => context.redirect('/#webhooks', 303));
  return app;
}
