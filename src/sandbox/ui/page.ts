import { Hono } from 'hono';
import type { Context, MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { html } from 'hono/html';
import { HTTPException } from 'hono/http-exception';
import { pageFiles } from '../../web/files.ts';
import { pageHeaders } from '../../web/headers.ts';
import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';
import type { ApiEnv } from '../api/api.ts';
import { readBody } from '../api/request-body.ts';
import { ACTIONS } from '../control/control.ts';
import { runOperation } from '../control/operations.ts';
import { ApiError } from '../shared/errors.ts';
import type { Store } from '../sandbox.ts';
import { callView, callsView } from './calls-view.ts';
import { bodyOf, fieldsView, numberIn, textIn } from './forms.ts';
import { addressOf, stockView } from './stock-view.ts';
import { lossesView, webhookView, webhooksView } from './webhooks-view.ts';

const EVERY_MS = 1_000;
const LINKS = [
  ['/#stock', 'Stock'],
  ['/#losses', 'Losses'],
  ['/#webhooks', 'Webhooks'],
  ['/calls', 'API calls'],
  ['/#faults', 'Faults'],
  ['/#settings', 'Settings'],
] as const;

const FORMS = {
  faults: 'Faults (probabilities from 0 to 1)',
  settings: 'Settings',
  traffic: 'Random traffic',
} as const;

interface Refused {
  readonly name: string;
  readonly typed: URLSearchParams;
  readonly problem: string;
}

/** Defeats DNS rebinding: only the Host header shows that a foreign name resolves to 127.0.0.1. */
export const refuseForeignHost: MiddlewareHandler<ApiEnv> = async (context, next) => {
  const port = context.env.incoming.socket.localPort;
  const host = context.req.header('Host');
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) {
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
  for (const path of ['/', '/page/*', '/calls', '/calls/*', '/webhooks/*'])
    app.use(path, pageHeaders, refuseForeignHost, csrf());
  app.route('/', pageFiles<ApiEnv>());

  const show = (context: Context<ApiEnv>, main: Html, problem?: string) => {
    const message =
      problem !== undefined
        ? html`<p class="problem" role="alert"><b>Nothing changed:</b> ${problem}</p>`
        : context.req.query('done') !== undefined
          ? html`<p class="notice">Done.</p>`
          : '';
    const page = frame({
      title: 'Simulated store',
      brand: 'Simulated store',
      server: 'The sandbox',
      everyMs: EVERY_MS,
      links: LINKS,
      at: context.req.path,
      tools: '',
      message,
      main,
    });
    return context.html(page, problem === undefined ? 200 : 400);
  };

  const front = (context: Context<ApiEnv>, refused?: Refused) => {
    const query = queryOf(context);
    const forms = Object.entries(FORMS).map(([name, title]) => {
      const { schema, show: values } = ACTIONS[name as keyof typeof FORMS];
      const typed = refused?.name === name ? refused.typed : undefined;
      return html`<article>
        <form id="${name}" method="post" action="${addressOf(`/page/${name}`, query)}" data-stay>
          <h2>${title}</h2>
          ${fieldsView(schema, values?.(store, store.network) ?? {}, typed)}
          <button>Apply</button>
        </form>
      </article>`;
    });
    const main = html`<div class="front">
        ${stockView(store.truth, query)}
        <div>
          ${lossesView(store, addressOf('/page/lose-webhook', query))} ${webhooksView(store)}
          ${callsView(store.calls, 'latest')}
        </div>
      </div>
      ${forms} ${connection(store, new URL(context.req.url).origin)}`;
    return show(context, main, refused?.problem);
  };
  app.get('/', (context) => front(context));

  app.get('/calls', (context) => show(context, callsView(store.calls, 'all')));
  app.get('/calls/:id', (context) => {
    const call = store.calls.recent.find(({ id }) => String(id) === context.req.param('id'));
    if (call === undefined) throw new ApiError(404, 'not_found', 'this call is no longer kept');
    return show(context, callView(call, new URL(context.req.url).origin));
  });

  const webhook = (context: Context<ApiEnv>, requestId: string, problem?: string) => {
    const records = store.deliveries.records.filter(({ delivery }) => delivery.requestId === requestId);
    const [first] = records;
    if (first === undefined) throw new ApiError(404, 'not_found', 'this webhook is no longer kept');
    return show(context, webhookView(store, records, first.delivery), problem);
  };
  app.get('/webhooks/:id', (context) => webhook(context, context.req.param('id')));

  app.post('/page/:name', async (context) => {
    const typed = await readForm(context);
    const name = context.req.param('name');
    const requestId = textIn(typed, 'request_id');
    const back =
      name === 'replay' ? `/webhooks/${encodeURIComponent(requestId)}` : addressOf('/', queryOf(context));
    try {
      await act(store, name, typed);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const problem = `${error.message}.`;
      return name === 'replay'
        ? webhook(context, requestId, problem)
        : front(context, { name, typed, problem });
    }
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

/** @throws ApiError without having changed anything. */
async function act(store: Store, name: string, typed: URLSearchParams): Promise<void> {
  if (name === 'stock') {
    const level = { variant_id: textIn(typed, 'variant_id'), warehouse_id: textIn(typed, 'warehouse_id') };
    const qty = numberIn(typed, 'qty');
    const isAdded = textIn(typed, 'how') === 'add';
    const change = isAdded ? { operation: 'add', by: qty } : { operation: 'adjust', to: qty };
    runOperation(store, { ...level, ...change });
    return;
  }
  if (!Object.hasOwn(ACTIONS, name)) throw new ApiError(404, 'not_found', 'no such form');
  const action = ACTIONS[name as keyof typeof ACTIONS];
  await action.run(store, bodyOf(action.schema, typed), store.network);
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
  return html`<article>
    <h2>For your <code>.env</code></h2>
    <pre id="connection" tabindex="0">
SERVICE_BASE_URL=${baseUrl}
SERVICE_CLIENT_ID=${clientId}
SERVICE_CLIENT_SECRET=${clientSecret}
SERVICE_WEBHOOK_SECRET=${webhookSecret}</pre>
    <a href="/openapi.json">/openapi.json</a> describes the API.
  </article>`;
}
