import { Hono } from 'hono';
import type { Context } from 'hono';
import { html } from 'hono/html';
import { HTTPException } from 'hono/http-exception';
import type { z } from 'zod';
import { pageFiles } from '../../web/files.ts';
import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';
import type { ApiEnv } from '../api/api.ts';
import { readBody } from '../api/request-body.ts';
import {
  changeSettings,
  readSettings,
  resend,
  setTraffic,
  settingsSchema,
  trafficSchema,
} from '../control/control.ts';
import { faultsSchema, readFaults, setFaults } from '../control/faults.ts';
import { possible, runOperation } from '../control/operations.ts';
import { ApiError } from '../shared/errors.ts';
import type { Store } from '../store.ts';
import { callView, callsView } from './calls-view.ts';
import { bodyOf, numberIn, schemaForm, textIn } from './forms.ts';
import { pageHeaders, refuseForeignForms, refuseForeignHost } from './guard.ts';
import { addressOf, readView, stockView } from './stock-view.ts';
import { lossesView, webhookView, webhooksView } from './webhooks-view.ts';

const EVERY_MS = 1_000;

interface Generated {
  readonly title: string;
  readonly schema: z.ZodObject;
  readonly values: () => Readonly<Record<string, unknown>>;
  readonly apply: (form: URLSearchParams) => void;
}

/** A form that was refused, to show it again with the reason. */
interface Refused {
  readonly action: string;
  readonly form: URLSearchParams;
  readonly words: string;
}

/** `GET /`, the page for people, and its forms. It works without scripts: a form is answered by a redirect. */
export function createPage(store: Store): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  for (const path of ['/', '/page/*', '/calls', '/calls/*', '/webhooks/*'])
    app.use(path, pageHeaders, refuseForeignHost, refuseForeignForms);
  app.route('/', pageFiles<ApiEnv>('store.css'));

  const generated = <Schema extends z.ZodObject>(
    title: string,
    schema: Schema,
    values: () => Readonly<Record<string, unknown>>,
    set: (body: z.output<Schema>) => void,
  ): Generated => ({
    ...{ title, schema, values },
    apply: (form) => {
      set(bodyOf(schema, values(), form));
    },
  });
  const forms: Readonly<Record<string, Generated>> = {
    faults: generated(
      'Faults (probabilities from 0 to 1)',
      faultsSchema,
      () => readFaults(store),
      (faults) => {
        setFaults(store, faults);
      },
    ),
    settings: generated(
      'Settings',
      settingsSchema,
      () => readSettings(store, store.network),
      (settings) => {
        changeSettings(store, settings, store.network);
      },
    ),
    traffic: generated(
      'Random traffic',
      trafficSchema,
      () => ({ rate: store.traffic.rate, structural: store.traffic.structural }),
      (traffic) => {
        setTraffic(store, traffic);
      },
    ),
  };
  const actions: Readonly<Record<string, (form: URLSearchParams) => void>> = {
    stock: (form) => {
      const level = { variant_id: textIn(form, 'variant_id'), warehouse_id: textIn(form, 'warehouse_id') };
      const qty = numberIn(form, 'qty');
      runOperation(
        store,
        textIn(form, 'how') === 'add'
          ? { operation: 'add', ...level, by: qty }
          : { operation: 'adjust', ...level, to: qty },
      );
    },
    'lose-webhook': () => {
      possible(() => store.losses.lose());
    },
    ...Object.fromEntries(Object.entries(forms).map(([name, { apply }]) => [name, apply])),
  };

  const show = (
    context: Context<ApiEnv>,
    page: { readonly main: Html; readonly refresh: string; readonly problem?: string | undefined },
    status: 200 | 400 | 404 = 200,
  ) => {
    store.pageShownAtMs = store.clock.baseNow();
    const isDone = context.req.query('done') !== undefined;
    // The page is current only now, and contains secrets.
    context.header('Cache-Control', 'no-store');
    return context.html(
      frame({
        title: 'Simulated store',
        server: 'The sandbox',
        everyMs: EVERY_MS,
        refresh: page.refresh,
        reloadAfterS: null,
        skip: { to: 'main', words: 'Skip to the content' },
        body: html`<header class="top">
            <h1><a href="/">Simulated store</a></h1>
            <nav aria-label="Parts of the page">
              <a href="/#stock">Stock</a> <a href="/#losses">Losses</a> <a href="/#webhooks">Webhooks</a>
              <a href="/calls">API calls</a> <a href="/#faults">Faults</a> <a href="/#settings">Settings</a>
            </nav>
          </header>
          <div id="message" aria-live="polite">
            ${
              page.problem === undefined
                ? ''
                : html`<div class="problem" role="alert"><b>Not done.</b> ${page.problem}</div>`
            }
            ${isDone ? html`<div class="notice">Done.</div>` : ''}
          </div>
          <main id="main">${page.main}</main>`,
      }),
      status,
    );
  };

  const front = (context: Context<ApiEnv>, refused?: Refused) => {
    const { searchParams, origin } = new URL(context.req.url);
    const view = readView(searchParams);
    const form = (name: string): Html => {
      const { title, schema, values } = forms[name] as Generated;
      const typed = refused?.action === name ? refused.form : undefined;
      const action = addressOf(`/page/${name}`, view);
      return schemaForm({ name, title, schema, values: values(), action, typed });
    };
    const main = html`<div class="front">
        ${stockView(store.truth, view)}
        <div class="side">
          ${lossesView(store, addressOf('/page/lose-webhook', view))} ${webhooksView(store)}
          ${callsView(store.calls, 'latest')}
        </div>
      </div>
      ${form('faults')} ${form('settings')} ${form('traffic')} ${connection(store, origin)}`;
    const page = { main, refresh: addressOf('/', view), problem: refused?.words };
    return show(context, page, refused === undefined ? 200 : 400);
  };
  const missing = (context: Context<ApiEnv>) =>
    show(context, { main: html`<section>It is not kept any more.</section>`, refresh: '' }, 404);

  const webhook = (context: Context<ApiEnv>, requestId: string, problem?: string) => {
    const records = store.deliveries.records.filter(({ delivery }) => delivery.requestId === requestId);
    const [first] = records;
    if (first === undefined) return missing(context);
    const main = webhookView(store, records, first.delivery);
    const refresh = `/webhooks/${encodeURIComponent(requestId)}`;
    return show(context, { main, refresh, problem }, problem === undefined ? 200 : 400);
  };

  app.get('/', (context) => front(context));
  app.get('/calls', (context) => show(context, { main: callsView(store.calls, 'all'), refresh: '/calls' }));
  app.get('/calls/:id', (context) => {
    const call = store.calls.find(Number(context.req.param('id')));
    if (call === undefined) return missing(context);
    const main = callView(call, new URL(context.req.url).origin);
    return show(context, { main, refresh: `/calls/${call.id}` });
  });
  app.get('/webhooks/:id', (context) => webhook(context, context.req.param('id')));

  app.post('/page/replay', async (context) => {
    const form = await readForm(context);
    const [requestId, url] = [textIn(form, 'request_id'), textIn(form, 'url')];
    if (!URL.canParse(url) || !/^https?:/.test(url))
      return webhook(context, requestId, 'The address must begin with http:// or https://.');
    await resend(store, requestId, url);
    return context.redirect(`/webhooks/${encodeURIComponent(requestId)}?done`, 303);
  });
  for (const [name, act] of Object.entries(actions)) {
    app.post(`/page/${name}`, async (context) => {
      const form = await readForm(context);
      const back = new URL(addressOf('/', readView(new URL(context.req.url).searchParams)), context.req.url);
      try {
        act(form);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return front(context, { action: name, form, words: `${error.message}.` });
      }
      back.searchParams.set('done', name);
      return context.redirect(back.pathname + back.search, 303);
    });
  }
  // A reload of a refused form opens its address.
  app.get('/page/:name', (context) => context.redirect('/', 303));

  app.onError((error, context) => {
    if (error instanceof ApiError) return context.text(`${error.message}\n`, error.status);
    if (error instanceof HTTPException) {
      return context.text('Forms of other sites are refused: use the forms of this page.\n', 403);
    }
    throw error;
  });
  return app;
}

/** Throws ApiError 400 for a body of another type than a form's, with which a browser also sends the origin. */
async function readForm(context: Context<ApiEnv>): Promise<URLSearchParams> {
  const raw = await readBody(context.env.incoming);
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(context.req.header('Content-Type') ?? '')) {
    throw new ApiError(400, 'invalid_request', 'Content-Type must be application/x-www-form-urlencoded');
  }
  return new URLSearchParams(raw.toString('utf8'));
}

function connection({ clientId, clientSecret, webhookSecret }: Store, baseUrl: string): Html {
  return html`<section aria-labelledby="connection-title">
    <h2 id="connection-title">For your <code>.env</code></h2>
    <pre id="connection" data-live="whole" tabindex="0">
SERVICE_BASE_URL=${baseUrl}
SERVICE_CLIENT_ID=${clientId}
SERVICE_CLIENT_SECRET=${clientSecret}
SERVICE_WEBHOOK_SECRET=${webhookSecret}</pre>
    <p class="quiet">
      <a href="/openapi.json">/openapi.json</a> describes the API. Scripts control the sandbox under
      <code>/sandbox/</code>.
    </p>
  </section>`;
}
