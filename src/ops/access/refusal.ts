import type { Context } from 'hono';
import { html } from 'hono/html';
import { errorBody } from '../shared/error-body.ts';
import { wantsPage, type OpsEnv } from '../shared/env.ts';
import { frame } from '../../web/frame.ts';

interface Refusal {
  /** The rule that refuses the request, with the headers that broke it. */
  readonly reason: string;
  /** Tells the operator which setting to change. */
  readonly remedy: string;
  /** Lines of a configuration that carry out the remedy. */
  readonly lines: readonly string[];
}

/** `403`, as a page for a browser. */
export function refused(c: Context<OpsEnv>, { reason, remedy, lines }: Refusal) {
  if (!wantsPage(c)) {
    const description = [reason, remedy, ...lines].join(' ');
    return c.json(errorBody('access_denied', description), 403);
  }
  const page = frame({
    title: 'Refused',
    everyMs: null,
    main: html`<article class="critical">
      <h1>This request is refused</h1>
      <p>${reason}</p>
      <p><b>What to do:</b> ${remedy}</p>
      ${lines.length === 0 ? '' : html`<pre tabindex="0" aria-label="Lines for the proxy">${lines.join('\n')}</pre>`}
    </article>`,
  });
  return c.html(page, 403);
}
