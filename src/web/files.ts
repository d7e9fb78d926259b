/** The style sheets and scripts that pages refer to. */
import { readFileSync } from 'node:fs';
import { Hono, type Env } from 'hono';
import { PAGE_FILES } from '../platform/own-files.ts';

/** What the script of every page imports: named in its head, so that they are not found one after the other. */
export const IMPORTED_SCRIPTS = ['copying.js', 'renewal.js', 'times.js'];
const SHARED_STYLE = ['colours.css', 'base.css'];

/** @param style the page's own, which follows what all pages share. */
export function pageFiles<E extends Env>(style: string): Hono<E> {
  const app = new Hono<E>();
  app.get('/page/style.css', (c) =>
    c.body(styleSheet([...SHARED_STYLE, style]), 200, { 'Content-Type': CSS }),
  );
  for (const name of ['script.js', ...IMPORTED_SCRIPTS]) {
    app.get(`/page/${name}`, (c) => c.body(text(name), 200, { 'Content-Type': JAVASCRIPT }));
  }
  return app;
}

export const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** Of these files, in this order. */
export function styleSheet(names: readonly string[]): string {
  return names.map(text).join('');
}

/** Read when they are first asked for: most starts show no page. */
const texts = new Map<string, string>();

function text(name: string): string {
  const known = texts.get(name) ?? readFileSync(new URL(name, PAGE_FILES), 'utf8');
  texts.set(name, known);
  return known;
}
