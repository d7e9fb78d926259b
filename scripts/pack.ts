/**
 * Makes the package: `npm run pack -- [--destination FOLDER] [--json]`. Builds, lays out the files of `files` in a
 * temporary folder, and packs that. Not `npm pack`: the package omits what only the project needs, such as its own
 * Node, and the project runs no scripts (.npmrc), so npm would not build. It leaves no dist/ that `npm pack` could
 * pack. Publish the resulting file with `npm publish`; the project itself is private.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from './build.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

/** Files that npm always packs, and fields that only the project needs. */
const ALWAYS = ['README.md', 'LICENSE'];
const OF_THE_PROJECT = ['private', 'scripts', 'devDependencies', 'optionalDependencies', 'allowScripts'];

/**
 * Bundled for its binaries, without its sources. In a project with a lockfile, npm ignores its `"gypfile": false`, so
 * `npm ci` would compile it, and fail without Python.
 */
const BUNDLED = 'better-sqlite3';
const OF_BUNDLED = ['lib', 'prebuilds', 'LICENSE', 'README.md'];
/** Fields for its sources and its authors. */
const NOT_OF_BUNDLED = ['files', 'gypfile', 'scripts', 'dependencies', 'devDependencies'];

interface Manifest {
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  /** Optional ones. */
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const readManifest = (path: string): Manifest => JSON.parse(readFileSync(path, 'utf8')) as Manifest;

function writeManifest(folder: string, manifest: object): void {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

function without(manifest: Manifest, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(manifest).filter(([name]) => !names.includes(name)));
}

/** @param needed packages that dist/ does not contain. */
function rangesOf(needed: ReadonlySet<string>, manifest: Manifest): Record<string, string> {
  const own = [...needed].filter((name) => !(name in manifest.peerDependencies));
  const ranges = own.toSorted().map((name) => {
    const range = manifest.dependencies[name];
    if (range === undefined) throw new Error(`dist/ needs ${name}, which is no dependency of the project`);
    return [name, range] as const;
  });
  return Object.fromEntries(ranges);
}

function copy(from: string, to: string, paths: Iterable<string>): void {
  for (const path of paths) {
    if (!existsSync(join(from, path))) throw new Error(`there is no ${join(from, path)}`);
    cpSync(join(from, path), join(to, path), { recursive: true });
  }
}

function bundle(folder: string): void {
  const from = dirname(createRequire(import.meta.url).resolve(`${BUNDLED}/package.json`));
  const to = join(folder, 'node_modules', BUNDLED);
  copy(from, to, OF_BUNDLED);
  writeManifest(to, without(readManifest(join(from, 'package.json')), NOT_OF_BUNDLED));
}

async function pack(destination: string, output: 'text' | 'json'): Promise<void> {
  const needed = await build();
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-pack-'));
  try {
    const manifest = readManifest(join(root, 'package.json'));
    writeManifest(folder, {
      ...without(manifest, OF_THE_PROJECT),
      dependencies: rangesOf(needed, manifest),
      bundleDependencies: [BUNDLED],
    });
    // npm itself leaves out what `!` names.
    const included = manifest.files.filter((path) => !path.startsWith('!'));
    copy(root, folder, new Set([...included, ...ALWAYS]));
    bundle(folder);
    const args = [
      'pack',
      '--pack-destination',
      resolve(destination),
      ...(output === 'json' ? ['--json'] : []),
    ];
    // On Windows npm is a script, which only a shell can start.
    execFileSync('npm', args, { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' });
  } finally {
    rmSync(folder, { recursive: true });
    rmSync(join(root, 'dist'), { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { destination: { type: 'string', default: '.' }, json: { type: 'boolean', default: false } },
  });
  await pack(values.destination, values.json ? 'json' : 'text');
}
