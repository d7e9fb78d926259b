/**
 * Puts src/ and nearly all packages that it uses into few files: most of a start was finding, reading and linking modules,
 * more than six hundred of them. What is loaded when it is needed stays in files of its own. Not minified: a stack trace
 * must be readable, and shorter files start no sooner.
 */
import { rolldown, type OutputChunk, type Plugin } from 'rolldown';

/** What is started by itself, and so keeps its name in dist/ (src/platform/own-files.ts). The entries share files... */
const ENTRIES = ['bin', 'cli', 'main', 'index', 'client'];
/** ... and a thread has its own: one file is found and read sooner than twenty. */
const THREADS = ['inbox/inbox-thread', 'mirror/writer/apply-thread', 'mirror/reader/query-thread'];

/** What cannot be put into a file, since it finds its binary by the place of its own. */
const OUTSIDE = ['better-sqlite3'];

/**
 * What packages load at their start and this program does not use, with what takes its place. Together they load a
 * dozen of Node's own modules.
 */
const UNUSED = new Map([
  // Figures are scraped here, and not pushed.
  [/\/prom-client\/lib\/pushgateway\.js$/, 'module.exports = undefined;'],
  // ... and carry no traces.
  [/\/@opentelemetry\/api\/build\/src\/index\.js$/, 'module.exports = undefined;'],
  // Log lines are written by the thread that they come from.
  [/\/pino\/lib\/transport\.js$/, 'module.exports = undefined;'],
]);

const unused: Plugin = {
  name: 'unused',
  load: (id) => {
    for (const [path, code] of UNUSED) if (path.test(id)) return code;
    return null;
  },
};

/** Both listeners speak HTTP/1: to know that a request is none of HTTP/2, the framework would load all of that. */
const noHttp2: Plugin = {
  name: 'no-http2',
  resolveId: (id, importer) =>
    id === 'node:http2' && /\/@hono\/node-server\//.test(importer ?? '') ? '\0http2' : null,
  load: (id) =>
    id === '\0http2'
      ? 'export class Http2ServerRequest {}\nexport const constants = { NGHTTP2_NO_ERROR: 0 };'
      : null,
};

/**
 * A package that src/ loads as CommonJS, at a moment of its own choice, is not found as such by the bundler, which knows
 * the function by its name alone.
 */
const requires: Plugin = {
  name: 'requires',
  transform: (code, id) => {
    if (!/\/src\/.*\.ts$/.test(id)) return null;
    const seen = code.replaceAll('createRequire(import.meta.url)(', 'require(');
    if (seen.includes('createRequire('))
      throw new Error(`${id}: write createRequire(import.meta.url)('package')`);
    return seen;
  },
};

/** Needed by bin.js, which has to load on Nodes that do not know `getBuiltinModule`. */
const IMPORTED = new Set(['node:module', 'node:os', 'node:path']);

/**
 * Node's own modules are not imported but asked for. An import reads each value that the module exports, also those that
 * are made when they are first looked at: with `node:http` come all of `fetch`, with `node:fs` its streams and promises.
 */
const builtins: Plugin = {
  name: 'builtins',
  renderChunk: (code) =>
    code.replaceAll(/^import (.+) from "(node:[a-z0-9_/]+)";$/gm, (whole, names: string, id: string) => {
      if (IMPORTED.has(id)) return whole;
      const wanted = names.replace(/^\* as /, '');
      const [, single, several] = /^([\w$]+)?(?:, )?(\{.*\})?$/.exec(wanted) ?? [];
      if (single === undefined && several === undefined) throw new Error(`cannot read: ${whole}`);
      const all = [single, several?.replaceAll(' as ', ': ')].filter((name) => name !== undefined);
      return all.map((name) => `var ${name} = globalThis.process.getBuiltinModule("${id}");`).join('\n');
    }),
};

interface Bundle {
  /** Names of the packages that it still imports. */
  readonly imported: ReadonlySet<string>;
  /** Folders of the packages that it holds. */
  readonly held: ReadonlySet<string>;
}

/** @throws Error when something cannot be found. */
export async function bundle(root: string, into: string): Promise<Bundle> {
  const chunks = [];
  chunks.push(...(await write(root, into, ENTRIES, '[name].js')));
  for (const path of THREADS) chunks.push(...(await write(root, into, [path], `${nameOf(path)}-[name].js`)));
  const own = new Set(chunks.map(({ fileName }) => fileName));
  const imports = chunks.flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports]);
  const modules = chunks.flatMap(({ moduleIds }) => moduleIds);
  return {
    imported: new Set(imports.filter((id) => !own.has(id) && !id.startsWith('node:'))),
    held: new Set(modules.flatMap((id) => PACKAGE_FOLDER.exec(id)?.[0] ?? [])),
  };
}

const PACKAGE_FOLDER = /^.*\/node_modules\/(@[^/]+\/)?[^/]+(?=\/)/;

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** @param chunkNames of the files that are loaded by others. */
async function write(
  root: string,
  into: string,
  entries: readonly string[],
  chunkNames: string,
): Promise<OutputChunk[]> {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(entries.map((path) => [nameOf(path), `src/${path}.ts`])),
    platform: 'node',
    external: OUTSIDE,
    plugins: [unused, noHttp2, requires, builtins],
    onLog: (level, { message }, log) => {
      // What is not found is left as it is, and would be missed only by those who use the package.
      if (level === 'warn') throw new Error(message);
      log(level, message);
    },
  });
  const { output } = await build.write({
    dir: into,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: chunkNames,
  });
  await build.close();
  return output.filter((file) => file.type === 'chunk');
}
