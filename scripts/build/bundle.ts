/**
 * Bundles src/ and most packages into a few files, because a start spent most of its time finding, reading and linking
 * more than six hundred modules. Code loaded on demand stays separate. Not minified: stack traces must be readable, and
 * shorter files start no sooner.
 */
import { isBuiltin } from 'node:module';
import { rolldown, type OutputChunk, type Plugin } from 'rolldown';

/** Entries keep their names in dist/ (src/platform/own-files.ts) and share files. */
const ENTRIES = ['bin', 'cli', 'main', 'client', 'feed'];
/** One file per thread loads sooner than twenty. */
const THREADS = ['receiver/receiver-thread', 'mirror/writer/apply-thread'];

/** The first finds its binary relative to its own file; the others are optional. */
const OUTSIDE = ['better-sqlite3', '@nats-io/transport-node', '@nats-io/jetstream'];

/** Exports of a package that is loaded as CommonJS: as ES modules, the unused ones are left out. */
const DESTRUCTURED =
  /export const \{([^}]*)\} = createRequire\(import\.meta\.url\)\(\s*'([^']+)',?\s*\) as [^;]+;/g;

/** src/ loads some CommonJS packages on demand by a function that the bundler recognises only by its name. */
const requires: Plugin = {
  name: 'requires',
  transform: (code, id) => {
    if (!/\/src\/.*\.ts$/.test(id)) return null;
    const seen = code
      .replaceAll(DESTRUCTURED, "export {$1} from '$2';")
      .replaceAll('createRequire(import.meta.url)(', 'require(');
    if (seen.includes('createRequire('))
      throw new Error(`${id}: write createRequire(import.meta.url)('package')`);
    return seen;
  },
};

interface Bundle {
  readonly imported: ReadonlySet<string>;
  /** Folders of the bundled packages. */
  readonly held: ReadonlySet<string>;
}

/** @throws Error when an import cannot be resolved. */
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

/** @param chunkNames of files that others load. */
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
      // An unresolved import would fail only for users of the package.
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
