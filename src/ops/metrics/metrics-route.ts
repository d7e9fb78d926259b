/** `GET /metrics`: the text that Prometheus reads (docs/http-api.md#private-listener). From memory, without a query. */
import { Hono } from 'hono';

export interface MetricsSource {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export function metricsRoute(source: MetricsSource): Hono {
  const app = new Hono();
  app.get('/metrics', async (c) =>
    c.body(await source.metrics(), 200, { 'Content-Type': source.contentType, 'Cache-Control': 'no-store' }),
  );
  return app;
}
