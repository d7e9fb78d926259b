/** What a form's redirect says of the action: where it leads, and the words there. */
import { html } from 'hono/html';
import type { Html } from '../../web/html.ts';
import type { Done } from './actions.ts';
import { positionIn } from './position.ts';

/** The page that a form is on: only pages that have one. */
export function backPath(asked: string | null): string {
  return asked !== null && /^\/variants\/\d{1,32}$/.test(asked) ? asked : '/';
}

export function noticeQuery({ done, run }: Done): string {
  return new URLSearchParams({ done, run: String(run.id) }).toString();
}

/** The notice that the address asks for, about a finished action; null: none. */
export function noticeOf(params: URLSearchParams): Html | null {
  const runId = positionIn(params.get('run') ?? undefined);
  if (runId === null) return null;
  const follow = html`<a href="/runs/${runId}">Run ${runId}</a>`;
  switch (params.get('done') ?? '') {
    case 'resync':
      return html`${follow} reads everything.`;
    case 'credentials':
      return html`The credentials are tried once more. ${follow} reads everything if the store accepts them.`;
    case 'products':
      return html`${follow} reads the products you named.`;
    case 'removals':
      return html`Removals are allowed for one hour. ${follow} reads everything.`;
    default:
      return null;
  }
}
