/**
 * The ops page (docs/http-api.md#private-listener): `GET /` and its neighbours, for people. It works without
 * scripts: forms are posted, and answered by a redirect.
 */
import { Hono, type Context } from 'hono';
import { pageFiles } from '../../web/files.ts';
import type { Status } from '../../mirror/queries/status.ts';
import type { Condition, ConditionName } from '../condition/condition.ts';
import { currentCondition } from '../shared/current-condition.ts';
import type { OpsEnv } from '../shared/env.ts';
import { actions, Refused } from './actions.ts';
import { deliveriesFrame } from './deliveries-view.ts';
import { deliveryView } from './delivery-view.ts';
import { failedView, notFoundView } from './error-views.ts';
import { layout, type Page, type Told } from './layout.ts';
import { loggedView } from './logged-view.ts';
import { backPath, noticeOf, noticeQuery } from './notices.ts';
import { overviewView } from './overview-view.ts';
import { positionIn } from './position.ts';
import { runsView, runView } from './runs-view.ts';
import { readStockView, stockView } from './stock-view.ts';
import { variantPage } from './variant-view.ts';
import { runName } from '../shared/words.ts';
import type { OpsDeps } from '../shared/operator.ts';

/** What the page shows and controls: the same parts as the API. */
type PageDeps = Pick<
  OpsDeps,
  'reader' | 'operator' | 'state' | 'alarms' | 'timeline' | 'warehouseNames' | 'now' | 'log'
>;

type PageContext = Context<OpsEnv>;
type Content = Pick<Page, 'title' | 'at' | 'main'> & Partial<Page>;

const VARIANTS_SHOWN = 40;
const CHANGES_SHOWN = 200;
const DELIVERIES_SHOWN = 30;
const RUNS_SHOWN = 50;
const SEARCHED_CHARACTERS = 200;
/** Its body, which never changes, is loaded with it. */
const DELIVERY_EVERY_MS = 10_000;
const RUN_EVERY_MS = 1_000;
const RUN_RELOAD_S = 3;

const NOTHING_TOLD: Told = { notice: null, problem: null };

interface Pages {
  readonly app: Hono<OpsEnv>;
  /** The page for an address that there is none of. */
  readonly nowhere: (c: PageContext) => Promise<Response>;
}

export function createPage(deps: PageDeps): Pages {
  const { reader, operator, alarms, timeline, warehouseNames: names, now, log } = deps;
  const app = new Hono<OpsEnv>();

  const current = (status: Status): Condition => currentCondition({ status, operator, alarms, nowMs: now() });
  /** Of any page: as of a moment ago, if that is known. Null: it cannot be told. */
  const conditionName = async (): Promise<ConditionName | null> =>
    alarms.condition?.name ??
    (await deps.state.status().then(
      (status) => current(status).name,
      () => null,
    ));

  const show = async (
    c: PageContext,
    content: Content,
    { status = 200, told }: { status?: 200 | 400 | 404 | 503; told?: Told } = {},
  ) => {
    const state = content.state ?? (await conditionName());
    const notice = told === undefined ? noticeOf(new URL(c.req.url).searchParams) : null;
    return c.html(
      layout({
        ...content,
        state,
        told: told ?? { notice, problem: null },
        canSignOut: c.get('signedInBy') === 'session',
      }),
      status,
    );
  };

  const showOverview = async (c: PageContext, told?: Told) => {
    const [status, pending, running, lag] = await Promise.all([
      deps.state.status(),
      reader.ask('pendingReads'),
      reader.ask('runningRuns'),
      reader.ask('lag'),
    ]);
    const condition = current(status);
    const main = overviewView({
      status,
      pending,
      lag,
      condition,
      running,
      blocked: operator.blocked,
      readsUnderWay: operator.readsUnderWay,
      alarms: alarms.current,
      minutes: timeline.minutes(),
      nowMs: now(),
    });
    return show(
      c,
      { title: 'Overview', at: '/', main, state: condition.name },
      told === undefined ? {} : { told, status: 400 },
    );
  };
  app.get('/', (c) => showOverview(c));

  app.get('/search', async (c) => {
    const text = (c.req.query('q') ?? '').trim().slice(0, SEARCHED_CHARACTERS);
    const hit = text === '' ? null : await reader.ask('search', { text });
    switch (hit?.kind) {
      case 'variant':
        return c.redirect(`/variants/${hit.variantId}`, 302);
      case 'delivery':
        return c.redirect(`/deliveries/${hit.seq}`, 302);
      case 'stock':
        return c.redirect(`/stock?${new URLSearchParams({ q: text }).toString()}`, 302);
      case undefined:
        return notFound(c, `No SKU, variant, product, request or order is “${text}”.`);
    }
  });

  app.get('/stock', async (c) => {
    const view = readStockView(new URL(c.req.url).searchParams);
    const page = await reader.ask('findStock', {
      text: view.text,
      warehouseId: view.warehouseId === '' ? null : view.warehouseId,
      suspect: view.suspect,
      after: view.after,
      limit: VARIANTS_SHOWN,
    });
    return show(c, { title: 'Stock', at: '/stock', main: stockView(page, view, { names, nowMs: now() }) });
  });

  const showVariant = async (c: PageContext, variantId: string, told?: Told) => {
    const beforeSeq = positionIn(c.req.query('before'));
    const view = await reader.ask('variantView', { variantId, beforeSeq, limit: CHANGES_SHOWN });
    if (view === null) return notFound(c, `There is no variant ${variantId} in the mirror.`);
    const { sku, productName, name } = view.variant;
    const title = [sku ?? `Variant ${variantId}`, productName ?? name]
      .filter((each) => each !== '')
      .join(': ');
    return show(
      c,
      { title, at: '/stock', main: variantPage(view, beforeSeq, { names, nowMs: now() }) },
      told === undefined ? {} : { told, status: 400 },
    );
  };
  app.get('/variants/:id', (c) => showVariant(c, c.req.param('id')));

  app.get('/deliveries', async (c) => {
    const before = positionIn(c.req.query('before'));
    const isFirst = before === null;
    const list = c.req.query('show') === 'dead-letters' ? 'dead-letters' : 'all';
    const page = await reader.ask('deliveryPage', {
      beforeSeq: before,
      limit: DELIVERIES_SHOWN,
      deadLettersOnly: list === 'dead-letters',
    });
    const main = deliveriesFrame(list, loggedView(page, { isFirst, show: list, names }));
    return show(c, { title: 'Deliveries', at: '/deliveries', main });
  });

  app.get('/deliveries/:seq', async (c) => {
    const seq = positionIn(c.req.param('seq'));
    const delivery = seq === null ? null : await reader.ask('deliveryAt', { seq });
    if (delivery === null) {
      return notFound(c, `There is no delivery ${c.req.param('seq')} in the inbox; old ones are pruned.`);
    }
    return show(c, {
      title: `Delivery ${delivery.seq}`,
      at: '/deliveries',
      everyMs: DELIVERY_EVERY_MS,
      main: deliveryView(delivery, names),
    });
  });

  app.get('/runs', async (c) => {
    const before = positionIn(c.req.query('before'));
    const runs = await reader.ask('latestRuns', {
      limit: RUNS_SHOWN + 1,
      ...(before === null ? {} : { before }),
    });
    const page = {
      runs: runs.slice(0, RUNS_SHOWN),
      hasMore: runs.length > RUNS_SHOWN,
      isFirst: before === null,
    };
    return show(c, { title: 'Runs', at: '/runs', everyMs: RUN_EVERY_MS, main: runsView(page, now()) });
  });

  app.get('/runs/:id', async (c) => {
    const id = positionIn(c.req.param('id'));
    const run = id === null ? null : await reader.ask('runById', { id });
    if (run === null) return notFound(c, `There is no run ${c.req.param('id')}; old ones are pruned.`);
    const state = await conditionName();
    return show(c, {
      state,
      title: `Run ${run.id}: ${runName(run.kind)}`,
      at: '/runs',
      everyMs: RUN_EVERY_MS,
      ...(run.state === 'running' ? { reloadAfterS: RUN_RELOAD_S } : {}),
      main: runView(run, now(), { isHeld: state === 'blocked' }),
    });
  });

  app.route('/', pageFiles<OpsEnv>('mirror.css'));

  for (const [name, act] of Object.entries(actions)) {
    app.post(`/page/${name}`, async (c) => {
      const form = new URLSearchParams(await c.req.text());
      const back = backPath(form.get('back'));
      try {
        return c.redirect(`${back}?${noticeQuery(await act(operator, form))}`, 303);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        const told = { notice: null, problem: { words: error.message, advice: error.advice } };
        return back === '/' ? showOverview(c, told) : showVariant(c, back.slice('/variants/'.length), told);
      }
    });
    // The address that a reload of a refused form opens.
    app.get(`/page/${name}`, (c) => c.redirect('/', 303));
  }

  const notFound = (c: PageContext, words: string) =>
    show(
      c,
      {
        title: 'Not found',
        at: '',
        main: notFoundView(words),
      },
      { status: 404, told: NOTHING_TOLD },
    );

  app.onError((error, c) => {
    log.error({ err: error, path: c.req.path }, 'a page of the private listener could not be shown');
    return show(
      c,
      {
        title: 'Page not available',
        at: '',
        main: failedView(error),
      },
      { status: 503, told: NOTHING_TOLD },
    );
  });
  return {
    app,
    nowhere: (c) => notFound(c, `There is no page ${new URL(c.req.url).pathname} in this mirror.`),
  };
}
