import type { Context } from 'hono';
import type { Html } from '../../web/html.ts';
import type { OpsEnv } from '../shared/env.ts';

/** Interval at which an open page shows itself again. */
export const EVERY_MS = 2_000;

export type PageContext = Context<OpsEnv>;

type ShownStatus = 200 | 400 | 403 | 404 | 503;

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
  status?: ShownStatus,
) => Response | Promise<Response>;
