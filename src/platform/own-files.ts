/**
 * Locates the program's own files. The build (scripts/build/bundle.ts) puts the sources into a few files in dist/, so no other
 * file may depend on its own path.
 */
import { basename } from 'node:path';

const isSource = import.meta.url.endsWith('.ts');

/** Next to src/, and next to dist/. */
export const MIGRATIONS = new URL(isSource ? '../../drizzle/' : '../drizzle/', import.meta.url);

/**
 * A style sheet or script that browsers load. The sources have those of libraries in their packages.
 * @param library its path below node_modules.
 */
export function pageFile(name: string, library?: string): URL {
  const source = library === undefined ? `../web/page/${name}` : `../../node_modules/${library}`;
  return new URL(isSource ? source : `./page/${name}`, import.meta.url);
}

/** @param name of a file that is started by itself, below src/ and without its ending: a thread's, or an entry. */
export function programFile(name: string): URL {
  return new URL(isSource ? `../${name}.ts` : `${basename(name)}.js`, import.meta.url);
}
