/** `GET /docs`: the API document for people. */
import { Hono } from 'hono';
import { apiDocs, apiDocsStyle } from '../../web/api-docs.ts';
import type { Html } from '../../web/html.ts';
import type { OpsEnv } from '../shared/env.ts';
import type { OpsDocument } from './document.ts';

export function docsRoutes(document: () => OpsDocument): Hono<OpsEnv> {
  const app = new Hono<OpsEnv>();
  let page: Html | null = null;
  app.get('/docs', (c) => c.html((page ??= apiDocs(document()))));
  app.get('/docs.css', (c) =>
    c.body(apiDocsStyle, 200, {
      'Content-Type': 'text/css; charset=utf-8',
      'Cache-Control': 'public, max-age=3600',
    }),
  );
  return app;
}
