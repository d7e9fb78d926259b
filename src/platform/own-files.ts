/** The build merges the sources into a few files in dist/: no other file may depend on its own path. */
import { basename } from 'node:path';

const isSource = import.meta.url.endsWith('.ts');

export const MIGRATIONS = new URL(isSource ? '../../drizzle/' : '../drizzle/', import.meta.url);

export function pageFile(name: string, library?: string): URL {
  const source = library === undefined ? `../web/page/${name}` : `../../node_modules/${library}`;
  return new URL(isSource ? source : `./page/${name}`, import.meta.url);
}

/** @param name of an entry or a thread's file, below src/ and without extension. */
export function programFile(name: string): URL {
  return new URL(isSource ? `../${name}.ts` : `${basename(name)}.js`, import.meta.url);
}
