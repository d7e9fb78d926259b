import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { html } from 'hono/html';
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
import { bodyOf, fieldsView, numberIn, textIn } from './forms.ts';
import { addressOf, stockView } from './stock-view.ts';
import { lossesView, webhooksView } from './webhooks-view.ts';

const EVERY_MS = 1_000;
const LINKS = [
  ['/#faults-title', 'Faults and settings'],
  ['/#losses', 'Losses'],
  ['/#webhooks', 'Webhooks'],
  ['/#stock', 'Stock'],
] as const;

const FORMS = {
  traffic: 'Random changes',
  faults: 'Faults (probabilities from 0 to 1)',
  settings: 'Settings',
} as const;

/** A form as typed, and why it was refused. */
interface Refusal {
  readonly name: string;
  readonly typed: URLSearchParams;
  readonly problem: string;
}

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

  const show = (context: Context<ApiEnv>, refusal?: Refusal) => {
    const query = queryOf(context);
    const page = frame({
      title: 'Simulated store',
      brand: 'Simulated store',
      server: 'The sandbox',
      everyMs: EVERY_MS,
      links: LINKS,
      at: context.req.path,
      tools: '',
      message: messageView(context, refusal),
      main: html`<div class="front">
        <div>
          <article aria-labelledby="faults-title">
            <header><h2 id="faults-title">Faults and settings</h2></header>
            ${formsView(store, query, refusal)} ${connection(store, new URL(context.req.url).origin)}
          </article>
          ${lossesView(store, addressOf('/page/lose-webhook', query))} ${webhooksView(store)}
        </div>
        ${stockView(store.truth, query)}
      </div>`,
    });
    return context.html(page, refusal === undefined ? 200 : 400);
  };
  app.get('/', (context) => show(context));

  app.post('/page/:name', async (context) => {
    const typed = await readForm(context);
    const name = context.req.param('name');
    try {
      act(store, name, typed);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return show(context, { name, typed, problem: `${error.message}.` });
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

function messageView(context: Context<ApiEnv>, refusal: Refusal | undefined): Html | '' {
  if (refusal !== undefined)
    return html`<p class="problem" role="alert"><b>Nothing changed:</b> ${refusal.problem}</p>`;
  return context.req.query('done') === undefined ? '' : html`<p class="notice">Done.</p>`;
}

function formsView(store: Store, query: string, refusal: Refusal | undefined): Html[] {
  return Object.entries(FORMS).map(([name, title]) => {
    const { schema, show } = ACTIONS[name as keyof typeof FORMS];
    const typed = refusal?.name === name ? refusal.typed : undefined;
    return html`<details id="${name}" ${typed === undefined ? '' : html`open`}>
      <summary>${title}</summary>
      <form method="post" action="${addressOf(`/page/${name}`, query)}" data-stay>
        ${fieldsView(schema, show?.(store) ?? {}, typed)}
        <button>Apply</button>
      </form>
    </details>`;
  });
}

/** @throws ApiError without having changed anything. */
function act(store: Store, name: string, typed: URLSearchParams): void {
  if (name === 'stock') {
    const { schema, run } = ACTIONS.stock;
    const change = {
      variant_id: textIn(typed, 'variant_id'),
      warehouse_id: textIn(typed, 'warehouse_id'),
      [textIn(typed, 'how')]: numberIn(typed, 'qty'),
    };
    run(store, parseFields(schema, change));
    return;
  }
  if (!Object.hasOwn(ACTIONS, name)) throw new ApiError(404, 'not_found', 'no such form');
  const { schema, run } = ACTIONS[name as keyof typeof ACTIONS];
  run(store, bodyOf(schema, typed));
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
  return html`<details>
    <summary>Settings for the mirror</summary>
    <pre id="connection" tabindex="0">
SERVICE_BASE_URL=${baseUrl}
SERVICE_CLIENT_ID=${clientId}
SERVICE_CLIENT_SECRET=${clientSecret}
SERVICE_WEBHOOK_SECRET=${webhookSecret}</pre>
  </details>`;
}
