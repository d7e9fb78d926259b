import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import { DRIFT_REASONS } from '../../core/drift-reasons.ts';
import type { Html } from '../../web/html.ts';
import { mayAllowRemovals } from '../access/sign-in.ts';
import { decisionSchema } from '../shared/shapes.ts';
import type { OpsEnv } from '../shared/env.ts';
import type { OpsDeps } from '../shared/operator.ts';
import { DIFFERENCES_SHOWN, differencesView } from './differences-view.ts';
import { failingView, heldView, OPEN_READS_SHOWN, problemsNav } from './problems-view.ts';

export const PROBLEMS_LINK = '/problems/held';

export type PageContext = Context<OpsEnv>;

interface Content {
  readonly title: string;
  /** The link of the navigation that leads here. */
  readonly at: string;
  readonly main: Html;
  /** The text of the search. */
  readonly query?: string;
}

export type ShowPage = (
  c: PageContext,
  content: Content,
  status?: 200 | 400 | 403 | 404 | 503,
) => Response | Promise<Response>;

/** @param show shows the content in the frame of the page. */
export function problemPages(deps: OpsDeps, show: ShowPage): Hono<OpsEnv> {
  const { reader, operator, state, token, now } = deps;
  const app = new Hono<OpsEnv>();

  const held = async (c: PageContext, problem: string, status: 200 | 400 | 403) => {
    const after = c.req.query('after') ?? null;
    const [page, all, counts] = await Promise.all([
      reader.ask('openReads', { kind: 'held', after: after ?? '', limit: OPEN_READS_SHOWN }),
      reader.ask('heldRemovals'),
      state.status(),
    ]);
    const decision = { asksToken: c.get('signedInBy') === 'session', problem };
    const main = html`${problemsNav(PROBLEMS_LINK, counts)}
    ${heldView(page, all, decision, { nowMs: now(), after })}`;
    return show(c, { title: 'Held removals', at: PROBLEMS_LINK, main }, status);
  };

  app.get('/problems', (c) => c.redirect(PROBLEMS_LINK, 303));
  app.get('/problems/held', (c) => held(c, '', 200));

  app.get('/problems/failing', async (c) => {
    const after = c.req.query('after') ?? null;
    const [page, counts] = await Promise.all([
      reader.ask('openReads', { kind: 'failing', after: after ?? '', limit: OPEN_READS_SHOWN }),
      state.status(),
    ]);
    const nav = problemsNav('/problems/failing', counts);
    const main = html`${nav} ${failingView(page, { nowMs: now(), after })}`;
    return show(c, { title: 'Failing reads', at: PROBLEMS_LINK, main });
  });

  app.get('/problems/differences', async (c) => {
    const text = c.req.query('before') ?? '';
    const before = /^\d{1,15}$/.test(text) ? Number(text) : Number.MAX_SAFE_INTEGER;
    const withDerived = c.req.query('derived') !== undefined;
    const reasons = DRIFT_REASONS.filter((reason) => withDerived || reason !== 'derived');
    const [found, names, counts] = await Promise.all([
      reader.ask('driftBefore', { before, reasons, limit: DIFFERENCES_SHOWN }),
      reader.ask('warehouseNames'),
      state.status(),
    ]);
    const shown = { names, isFirst: before === Number.MAX_SAFE_INTEGER, withDerived };
    const main = html`${problemsNav('/problems/differences', counts)} ${differencesView(found, shown)}`;
    return show(c, { title: 'Corrected differences', at: PROBLEMS_LINK, main });
  });

  app.post('/problems/removals', async (c) => {
    const fields = new URLSearchParams(await c.req.text());
    const { token: typed = '', by, reason, which } = Object.fromEntries(fields);
    if (!mayAllowRemovals(c.get('signedInBy'), { typed: typed.trim(), token })) {
      return held(c, 'The token is wrong: nothing was removed. Type the value of OPS_TOKEN.', 403);
    }
    const { data } = decisionSchema.safeParse({ by, reason });
    if (data === undefined) {
      return held(c, 'Nothing was removed: give your name and a reason, for the log and the run.', 400);
    }
    const ticked = fields.getAll('product_id');
    if (which !== 'all' && ticked.length === 0) {
      return held(c, 'Nothing was removed: tick the products, or remove all.', 400);
    }
    const { id } = await operator.resync(which === 'all' ? null : ticked, data);
    return c.redirect(`/runs/${id}`, 303);
  });
  return app;
}
