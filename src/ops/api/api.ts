/** Puts the JSON API together: each neighbouring file has its endpoints, this one what they share. */
import { ChangeFeed } from '../feed/change-feed.ts';
import { HeldAnswers } from '../feed/held-answers.ts';
import type { OpsDeps } from '../shared/operator.ts';
import { changesRoutes } from './changes.ts';
import { describeApi, type OpsDocument } from './document.ts';
import { historyRoutes } from './history.ts';
import { apiRouter, type ApiRouter } from './router.ts';
import { runsRoutes } from './runs.ts';
import { statusRoutes } from './status.ts';
import { stockRoutes } from './stock.ts';

type ApiDeps = Pick<
  OpsDeps,
  'reader' | 'writer' | 'state' | 'operator' | 'alarms' | 'now' | 'stopping' | 'log'
>;

export function createApi({
  reader,
  writer,
  state,
  operator,
  alarms,
  now,
  stopping,
  log,
}: ApiDeps): ApiRouter {
  const feed = new ChangeFeed({ reader, writer });
  const api = apiRouter();
  api.route('/', statusRoutes({ reader, state, operator, alarms, now }));
  api.route('/', stockRoutes(reader));
  api.route('/', changesRoutes({ reader, feed, held: new HeldAnswers({ stopping, log }) }));
  api.route('/', historyRoutes(reader));
  api.route('/', runsRoutes({ reader, operator, alarms, held: new HeldAnswers({ stopping, log }) }));

  let document: OpsDocument | null = null;
  // Made on request: it takes as long as a good part of a start.
  api.get('/openapi.json', (c) => c.json((document ??= describeApi(api))));
  return api;
}
