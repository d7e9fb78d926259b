/** Style sheets and scripts, open to all for the sign-in page. */
import { readFileSync } from 'node:fs';
import { Hono, type Env } from 'hono';
import { etag } from 'hono/etag';
import { pageFile } from '../platform/own-files.ts';

/** Files of packages, by their served names. The build copies them. */
export const LIBRARY_FILES: Readonly<Record<string, string>> = {
  'pico.css': '@picocss/pico/css/pico.min.css',
  'uplot.css': 'uplot/dist/uPlot.min.css',
  'uplot.js': 'uplot/dist/uPlot.esm.js',
  'idiomorph.js': 'idiomorph/dist/idiomorph.esm.js',
};

export const STYLES = ['pico.css', 'uplot.css', 'style.css'];
const SCRIPTS = ['script.js', 'idiomorph.js', 'uplot.js'];

export function pageFiles<E extends Env>(): Hono<E> {
  const app = new Hono<E>();
  for (const name of [...STYLES, ...SCRIPTS]) {
    let text: string | undefined;
    app.get(`/page/${name}`, etag(), (c) => {
      text ??= readFileSync(pageFile(name, LIBRARY_FILES[name]), 'utf8');
      const type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
      return c.body(text, 200, { 'Content-Type': `${type}; charset=utf-8`, 'Cache-Control': 'no-cache' });
    });
  }
  return app;
}
