/** The package as its users have it: packed, installed, and looked at. */
import { execFileSync, spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** npm puts the project's own commands first in the path; a user has no such help, but for a current Node. */
export const userEnv: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
  PATH: [
    dirname(process.execPath),
    ...(process.env['PATH'] ?? '').split(delimiter).filter((entry) => !entry.includes('node_modules')),
  ].join(delimiter),
};

export interface Installed {
  /** What `npm install --global` was told to fill. */
  readonly prefix: string;
  /** Where the package itself is. */
  readonly folder: string;
  /** The paths in the packed file. */
  readonly packed: readonly string[];
}

/** @param project a checkout with its dependencies. @param into a folder that is made. */
export function installPackage(project: string, into: string): Installed {
  mkdirSync(into, { recursive: true });
  const npm = (...args: string[]): string =>
    execFileSync('npm', args, {
      cwd: project,
      env: userEnv,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const answer =
    'pack' in scripts
      ? npm('run', '--silent', 'pack', '--', '--json', '--destination', into)
      : npm('pack', '--json', '--pack-destination', into);
  const [pack] = JSON.parse(answer.slice(answer.search(/^\[$/m))) as [
    { filename: string; files: { path: string }[] },
  ];
  const prefix = join(into, 'prefix');
  npm('install', '--global', '--prefix', prefix, join(into, pack.filename));
  return {
    prefix,
    folder: join(prefix, 'lib/node_modules/stock-mirror'),
    packed: pack.files.map(({ path }) => path),
  };
}

/** Bytes of all files below a folder, in whole blocks, as `du` counts them; links are not followed. */
export function bytesOnDisk(path: string): number {
  const stat = lstatSync(path);
  const own = stat.blocks * 512;
  if (!stat.isDirectory()) return own;
  return readdirSync(path).reduce((sum, name) => sum + bytesOnDisk(join(path, name)), own);
}

const LISTING = `
  import { registerHooks } from 'node:module';
  const urls = new Set();
  registerHooks({ load: (url, context, next) => { urls.add(url); return next(url, context); } });
  process.once('exit', () => process.stderr.write('LOADED ' + JSON.stringify([...urls]) + '\\n'));`;

interface Loaded {
  /** The npm packages whose code is loaded, from their folders or out of the build's files. */
  readonly packages: ReadonlySet<string>;
  readonly bytes: number;
}

/** What a Node with these arguments loads, other than Node itself; of a package with a folder all that is in it. */
export function loadedBy(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = userEnv): Loaded {
  const { stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(LISTING)}`, ...args],
    { cwd, env, encoding: 'utf8' },
  );
  const listed = /^LOADED (.*)$/m.exec(stderr)?.[1];
  if (listed === undefined) throw new Error(`node ${args.join(' ')} did not list what it loads: ${stderr}`);
  const packages = new Set<string>();
  const paths = new Set<string>();
  for (const url of JSON.parse(listed) as string[]) {
    if (!url.startsWith('file:')) continue;
    const [path] = url.slice('file://'.length).split('?') as [string];
    const [folder, name] = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(path)?.slice(1) ?? [];
    if (folder !== undefined && name !== undefined && name !== 'stock-mirror') {
      packages.add(name);
      paths.add(folder);
      continue;
    }
    paths.add(path);
    // As the build marks where each file begins that it has put into this one.
    const marks = /^\/\/ node_modules\/(?:.*\/node_modules\/)?((?:@[^/]+\/)?[^/]+)\//gm;
    for (const [, held = ''] of readFileSync(path, 'utf8').matchAll(marks)) packages.add(held);
  }
  return { packages, bytes: [...paths].reduce((sum, path) => sum + bytesOnDisk(path), 0) };
}

/** What a program loads that imports one of the package's entries. */
export function loadedByEntry(installed: Installed, entry: string): Loaded {
  const { exports } = JSON.parse(readFileSync(join(installed.folder, 'package.json'), 'utf8')) as {
    exports: Record<string, { default: string }>;
  };
  const file = exports[entry]?.default;
  if (file === undefined) throw new Error(`the package has no ${entry}`);
  return loadedBy([join(installed.folder, file)], installed.folder);
}
