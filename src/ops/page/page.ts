import { Hono } from 'hono';
import { html } from 'hono/html';
import { WAREHOUSE_NAME, warehouseNameIn } from '../../platform/warehouse-name.ts';
import { SqliteFault } from '../../sqlite/errors.ts';
import { idSchema } from '../../store-api/contract/schemas.ts';
import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';
import type { OpsEnv } from '../shared/env.ts';
import type { OpsDeps } from '../shared/operator.ts';
import type { Verdict } from '../state/state.ts';
import { runName } from '../shared/words.ts';
import { causesView } from './causes-view.ts';
import { deliveriesView, deliveryView } from './deliveries-view.ts';
import { STATE_NAMES } from './cause-view.ts';
import type { Status } from '../../mirror/queries/status.ts';
import { EVERY_MS, quantity } from './parts.ts';
import { overviewView, unreadableView } from './overview-view.ts';
import { spanOf } from './plots-view.ts';
import { problemsNav } from './problems-view.ts';
import { problemPages, PROBLEMS_LINK, type PageContext, type ShowPage } from './problems.ts';
import { runsView, RUNS_SHOWN, runView } from './runs-view.ts';
import { readStockSearch, stockView } from './stock-view.ts';
import { variantPage, variantTitle } from './variant-view.ts';

/** The last one has the number of problems. */
function linksOf(counts: Pick<Status, 'held_removals' | 'failing_reads' | 'dead_letters'> | undefined) {
  const { held_removals: held = 0, failing_reads: failing = 0, dead_letters: dead = 0 } = counts ?? {};
  const all = held + failing + dead;
  const words = all === 0 ? 'Problems' : `Problems ${quantity(all)}`;
  return [...LINKS, [PROBLEMS_LINK, words]] as const;
}

const LINKS = [
  ['/', 'Overview'],
  ['/stock', 'Stock'],
  ['/deliveries', 'Deliveries'],
  ['/runs', 'Runs'],
] as const;
const VARIANTS_SHOWN = 40;
const CHANGES_SHOWN = 100;
const DELIVERIES_SHOWN = 30;

interface Pages {
  readonly app: Hono<OpsEnv>;
  readonly nowhere: (c: PageContext) => Response | Promise<Response>;
}

export function createPage(deps: OpsDeps): Pages {
  const { reader, operator, namedBySettings, commandOf, now, log } = deps;
  const app = new Hono<OpsEnv>();

  const show: ShowPage = async (c, { title, at, main, query = '' }, status = 200) => {
    const page = frame({
      title,
      // A page that cannot be shown now shows itself again once it can.
      everyMs: status === 200 || status === 503 ? EVERY_MS : null,
      links: linksOf(deps.state.last?.status),
      at,
      tools: toolsView(await deps.watch.shown(), query, c.get('signedInBy') === 'session'),
      main,
    });
    return c.html(page, status);
  };

  app.get('/', async (c) => {
    const [status, running] = await Promise.all([deps.state.status(), reader.ask('runningRuns')]);
    const mirror = deps.watch.shownIn(status.causes);
    const minutes = deps.timeline.minutes();
    const main = overviewView({
      mirror,
      status,
      running,
      isBlocked: operator.blocked !== null,
      minutes,
      span: spanOf(c.req.query('span')),
      nowMs: now(),
      commandOf,
    });
    return show(c, { title: 'Overview', at: '/', main });
  });

  app.get('/causes', (c) => show(c, { title: 'Causes', at: '/', main: causesView(commandOf) }));

  app.get('/stock', async (c) => {
    const search = readStockSearch(new URL(c.req.url).searchParams);
    const { warehouseId } = search;
    const [page, names, warehouseIds, status] = await Promise.all([
      reader.ask('findStock', {
        ...search,
        warehouseId: warehouseId === '' ? null : warehouseId,
        limit: VARIANTS_SHOWN,
      }),
      reader.ask('warehouseNames'),
      reader.ask('warehouseIds'),
      deps.state.status(),
    ]);
    const suspects = status.suspect_count;
    const mayName = !namedBySettings.has(warehouseId);
    const main = stockView(page, search, { names, mayName, nowMs: now(), suspects, warehouseIds });
    return show(c, { title: 'Stock', at: '/stock', main, query: search.text });
  });

  app.get('/variants/:id', async (c) => {
    const variantId = c.req.param('id');
    const beforeSeq = numberIn(c.req.query('before'));
    const view = await reader.ask('variantView', { variantId, beforeSeq, limit: CHANGES_SHOWN });
    if (view === null) return fail(c, `The mirror has no variant ${variantId}`);
    const names = await reader.ask('warehouseNames');
    const main = variantPage(view, { names, nowMs: now(), beforeSeq });
    return show(c, { title: variantTitle(view), at: '/stock', main });
  });

  app.get('/deliveries', async (c) => {
    const beforeSeq = numberIn(c.req.query('before'));
    const deadLettersOnly = c.req.query('show') === 'dead-letters';
    const page = await reader.ask('deliveryPage', { beforeSeq, limit: DELIVERIES_SHOWN, deadLettersOnly });
    const names = await reader.ask('warehouseNames');
    const list = deliveriesView(page, { names, deadLettersOnly, isFirst: beforeSeq === null });
    if (!deadLettersOnly) return show(c, { title: 'Deliveries', at: '/deliveries', main: list });
    const nav = problemsNav('/deliveries?show=dead-letters', await deps.state.status());
    const main = html`${nav} ${list}`;
    return show(c, { title: 'Deliveries not understood', at: PROBLEMS_LINK, main });
  });

  app.get('/deliveries/:seq', async (c) => {
    const seq = numberIn(c.req.param('seq'));
    const delivery = seq === null ? null : await reader.ask('deliveryAt', { seq });
    if (delivery === null)
      return fail(c, `The inbox has no delivery ${c.req.param('seq')}; old ones are pruned`);
    const main = deliveryView(delivery, await reader.ask('warehouseNames'));
    return show(c, { title: `Delivery ${delivery.seq}`, at: '/deliveries', main });
  });

  app.get('/runs', async (c) => {
    const before = numberIn(c.req.query('before'));
    const runs = await reader.ask('latestRuns', {
      limit: RUNS_SHOWN + 1,
      ...(before !== null && { before }),
    });
    return show(c, { title: 'Runs', at: '/runs', main: runsView(runs, before === null, now()) });
  });

  app.get('/runs/:id', async (c) => {
    const id = numberIn(c.req.param('id'));
    const run = id === null ? null : await reader.ask('runById', { id });
    if (run === null) return fail(c, `The mirror has no run ${c.req.param('id')}; old ones are pruned`);
    return show(c, {
      title: `Run ${run.id}: ${runName(run.kind)}`,
      at: '/runs',
      main: runView(run, now(), operator.blocked !== null),
    });
  });

  app.post('/page/resync', async (c) => {
    const productIds = new URLSearchParams(await c.req.text()).getAll('product_id');
    const odd = productIds.find((productId) => !idSchema.safeParse(productId).success);
    if (odd !== undefined) return fail(c, `“${odd}” is not a product id`, 400);
    const { id } = await operator.resync(productIds.length === 0 ? null : productIds, null);
    return c.redirect(`/runs/${id}`, 303);
  });

  app.post('/page/warehouse', async (c) => {
    const { id = '', name: typed = '' } = Object.fromEntries(new URLSearchParams(await c.req.text()));
    const name = warehouseNameIn(typed);
    if (!idSchema.safeParse(id).success) return fail(c, `“${id}” is not a warehouse id`, 400);
    if (namedBySettings.has(id))
      return fail(c, `WAREHOUSE_NAMES names warehouse ${id}: change it there`, 400);
    if (name === null && typed.trim() !== '') return fail(c, `A name has ${WAREHOUSE_NAME}`, 400);
    await deps.writer.command('nameWarehouses', { names: { [id]: name } });
    return c.redirect(`/stock?${new URLSearchParams({ warehouse: id }).toString()}`, 303);
  });

  app.route('/', problemPages(deps, show));

  const fail = (c: PageContext, words: string, status: 400 | 404 | 503 = 404) =>
    show(c, { title: words, at: '', main: html`<article><h1>${words}</h1></article>` }, status);

  app.onError((error, c) => {
    if (error instanceof SqliteFault) {
      const main = unreadableView(deps.watch.shownIn(error), { nowMs: now(), commandOf });
      return show(c, { title: 'The mirror cannot be read', at: '', main }, 503);
    }
    log.error({ err: error, path: c.req.path }, 'a page of the private listener could not be shown');
    return fail(c, `This page cannot be shown: ${error.message}; see the mirror’s log`, 503);
  });
  return { app, nowhere: (c) => fail(c, `There is no page ${new URL(c.req.url).pathname}`) };
}

function numberIn(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function toolsView({ state }: Verdict, query: string, canSignOut: boolean): Html {
  return html`<span class="state ${state}" role="status">${STATE_NAMES[state]}</span>
    <form role="search" action="/stock">
      <input
        type="search"
        name="q"
        value="${query}"
        aria-label="Find a SKU, name, or the id of a variant or product"
        placeholder="SKU, name, id …"
        autocomplete="off"
        spellcheck="false"
      />
    </form>
    ${
      canSignOut
        ? html`<form method="post" action="/logout">
            <button class="outline secondary">Sign out</button>
          </form>`
        : ''
    }`;
}
