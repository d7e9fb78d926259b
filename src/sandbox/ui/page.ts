import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { html, raw } from 'hono/html';
import { HTTPException } from 'hono/http-exception';
import { pageFiles } from '../../web/files.ts';
import { isForeignHost } from '../../web/foreign-host.ts';
import { pageHeaders } from '../../web/headers.ts';
import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';
import type { ApiEnv } from '../api/api.ts';
import { parseFields, readBody } from '../api/request-body.ts';
import { ACTIONS } from '../control/actions.ts';
import { ApiError } from '../shared/errors.ts';
import type { Store } from '../store.ts';
import { addressOf, stockView } from './stock-view.ts';
import { lossesView, webhooksView } from './webhooks-view.ts';

const EVERY_MS = 1_000;
const LINKS = [
  ['/#products', 'Products'],
  ['/#losses', 'Losses'],
  ['/#webhooks', 'Webhooks'],
  ['/#stock', 'Stock'],
] as const;
/** More than the mass-removal guard lets pass at once. */
const DELETED_AT_ONCE = 21;

export const refuseForeignHost: MiddlewareHandler<ApiEnv> = async (context, next) => {
  const port = context.env.incoming.socket.localPort ?? 0;
  if (isForeignHost(context.req.header('Host') ?? '', port)) {
    throw new ApiError(
      403,
      'access_denied',
      `open it as http://127.0.0.1:${port} or http://localhost:${port}`,
    );
  }
  await next();
};

export function createPage(store: Store): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  for (const path of ['/', '/page/*']) app.use(path, pageHeaders, refuseForeignHost, csrf());
  app.route('/', pageFiles<ApiEnv>());

  const show = (context: Context<ApiEnv>, problem?: string) => {
    const query = queryOf(context);
    const page = frame({
      title: null,
      brand: 'Simulated store',
      server: 'The sandbox',
      everyMs: EVERY_MS,
      links: LINKS,
      at: context.req.path,
      message: messageView(context, problem),
      main: html`<div class="front">
        <div>
          ${connection(store, new URL(context.req.url).origin)}
          ${productsView(store, addressOf('/page/products', query))}
          ${lossesView(store, addressOf('/page/lose-webhook', query))} ${webhooksView(store)}
        </div>
        ${stockView(store.truth, query)}
      </div>`,
    });
    return context.html(page, problem === undefined ? 200 : 400);
  };
  app.get('/', (context) => show(context));

  app.post('/page/:name', async (context) => {
    const typed = await readForm(context);
    try {
      act(store, context.req.param('name'), typed);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return show(context, `${error.message}.`);
    }
    const back = addressOf('/', queryOf(context));
    return context.redirect(`${back}${back.includes('?') ? '&' : '?'}done`, 303);
  });
  // A reload after a refused form opens this address.
  app.get('/page/:name', (context) => context.redirect('/', 303));

  app.onError((error, context) => {
    if (error instanceof ApiError) return context.text(`${error.message}\n`, error.status);
    if (error instanceof HTTPException) {
      return context.text('Forms of other sites are refused.\n', 403);
    }
    throw error;
  });
  return app;
}

function queryOf(context: Context<ApiEnv>): string {
  return context.req.query('q')?.trim() ?? '';
}

function messageView(context: Context<ApiEnv>, problem: string | undefined): Html | '' {
  if (problem !== undefined)
    return html`<p class="problem" role="alert"><b>Nothing changed:</b> ${problem}</p>`;
  return context.req.query('done') === undefined ? '' : html`<p class="notice">Done.</p>`;
}

/** @throws ApiError without having changed anything. */
function act(store: Store, name: string, typed: URLSearchParams): void {
  const number = (field: string): number | undefined =>
    typed.has(field) ? Number(typed.get(field)?.trim() || NaN) : undefined;
  const run = (action: keyof typeof ACTIONS, fields: object) =>
    ACTIONS[action].run(store, parseFields(ACTIONS[action].schema, fields));
  switch (name) {
    case 'stock': {
      const fields = { variant_id: typed.get('variant_id'), warehouse_id: typed.get('warehouse_id') };
      run('stock', { ...fields, [typed.get('how') ?? '']: number('qty') });
      return;
    }
    case 'products':
      run('products', { delete: number('delete'), restore: number('restore') });
      return;
    case 'lose-webhook':
      run('lose-webhook', {});
      return;
    default:
      throw new ApiError(404, 'not_found', 'no such form');
  }
}

/** Refuses other types than a form's, since a browser sends the origin with forms. @throws ApiError 400 */
async function readForm(context: Context<ApiEnv>): Promise<URLSearchParams> {
  const raw = await readBody(context.env.incoming);
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(context.req.header('Content-Type') ?? '')) {
    throw new ApiError(400, 'invalid_request', 'Content-Type must be application/x-www-form-urlencoded');
  }
  return new URLSearchParams(raw.toString('utf8'));
}

function connection({ clientId, clientSecret, webhookSecret }: Store, baseUrl: string): Html {
  return html`<article aria-labelledby="connection-title">
    <header><h2 id="connection-title">Settings for the mirror</h2></header>
    <pre id="connection" tabindex="0">
SERVICE_BASE_URL=${baseUrl}
SERVICE_CLIENT_ID=${clientId}
SERVICE_CLIENT_SECRET=${clientSecret}
SERVICE_WEBHOOK_SECRET=${webhookSecret}</pre>
  </article>`;
}

function productsView({ truth }: Store, action: string): Html {
  const deleted = truth.products.filter((product) => product.deleted).length;
  const live = truth.products.length - deleted;
  const button = (how: string, count: number, words: string): Html =>
    html`<button name="${how}" value="${count}" ${count === 0 ? raw('disabled') : ''}>${words}</button>`;
  const fewer = Math.min(DELETED_AT_ONCE, live);
  return html`<article id="products" aria-labelledby="products-title">
    <header><h2 id="products-title">Products</h2></header>
    <p class="quiet">
      ${live} products, and ${deleted} deleted. If many are deleted at once, the mirror holds their removal
      back until you decide.
    </p>
    <form method="post" action="${action}" class="row" data-stay>
      ${button('delete', fewer, `Delete the last ${fewer}`)} ${button('restore', deleted, 'Restore all')}
    </form>
  </article>`;
}
