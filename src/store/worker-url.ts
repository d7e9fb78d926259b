/** Worker files are TypeScript when run from the source and JavaScript when run from `dist/`. */
export function workerUrl(name: string, importerUrl: string): URL {
  return new URL(`./${name}${importerUrl.endsWith('.ts') ? '.ts' : '.js'}`, importerUrl);
}
