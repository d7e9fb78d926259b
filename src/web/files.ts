/** The style sheet and script that the page's head refers to. */
import { Hono, type Env } from 'hono';
import { apiDocsStyle } from './api-docs.ts';
import { script } from './script.ts';
import { baseStyle } from './style.ts';

/** @param style the page's own, appended to what all pages share. */
export function pageFiles<E extends Env>(style: string): Hono<E> {
  const app = new Hono<E>();
  for (const [path, type, text] of [
    ['/page/style.css', 'text/css', baseStyle + apiDocsStyle + style],
    ['/page/script.js', 'text/javascript', script],
  ] as const) {
    app.get(path, (c) => c.body(text, 200, { 'Content-Type': `${type}; charset=utf-8` }));
  }
  return app;
}
