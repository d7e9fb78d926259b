/**
 * Puts src/ and nearly all packages that it uses into few files: most of a start was finding, reading and linking modules,
 * more than six hundred of them. What is loaded when it is needed stays in files of its own. Not minified: a stack trace
 * must be readable, and shorter files start no sooner.
 */
import { isBuiltin } from 'node:module';
import { rolldown, type OutputChunk, type Plugin } from 'rolldown';

/** What is started by itself, and so keeps its name in dist/ (src/platform/own-files.ts). The entries share files... */
const ENTRIES = ['bin', 'cli', 'main', 'client'];
/** ... and a thread has its own: one file is found and read sooner than twenty. */
const THREADS = ['inbox/inbox-thread', 'mirror/writer/apply-thread', 'mirror/reader/query-thread'];

/** What cannot be put into a file, since it finds its binary by the place of its own. */
const OUTSIDE = ['better-sqlite3'];

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
    imported: new Set(imports.filter((id) => !own.has(id) && !isBuiltin(id))),
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
    plugins: [requires],
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
