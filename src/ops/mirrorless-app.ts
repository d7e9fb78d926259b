/** The private listener of a process that has no mirror to show: none at all, or none yet. */
import type { Hono } from 'hono';
import { createGuardedApp } from './access/guarded.ts';
import { replicationRoutes } from './api/replication.ts';
import type { ReplicationView } from './condition/replication.ts';
import { metricsRoute, type MetricsSource } from './metrics/metrics-route.ts';
import { errorBody } from './shared/api-error.ts';
import type { OpsEnv } from './shared/env.ts';
import type { Logger } from '../platform/log.ts';

interface MirrorlessDeps {
  readonly token: string | null;
  readonly metrics: MetricsSource;
  readonly now: () => number;
  readonly log: Logger;
  readonly replication: () => ReplicationView;
  /** Why there is no mirror, and what to do about it. */
  readonly why: () => string;
}

export function createMirrorlessApp(deps: MirrorlessDeps): Hono<OpsEnv> {
  const { metrics, replication, why } = deps;
  const app = createGuardedApp(deps);
  app.route('/', metricsRoute(metrics));
  app.route('/', replicationRoutes(replication));
  app.notFound((c) => c.json(errorBody('unavailable', why()), 503));
  return app;
}
