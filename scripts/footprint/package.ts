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

/** The npm packages that a Node with these arguments loads, with their folders. */
export function packagesLoaded(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = userEnv,
): Map<string, string> {
  const { stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(LISTING)}`, ...args],
    { cwd, env, encoding: 'utf8' },
  );
  const listed = /^LOADED (.*)$/m.exec(stderr)?.[1];
  if (listed === undefined) throw new Error(`node ${args.join(' ')} did not list what it loads: ${stderr}`);
  const found = new Map<string, string>();
  for (const url of JSON.parse(listed) as string[]) {
    const [folder, name] = /^file:\/\/(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(url)?.slice(1) ?? [];
    if (folder !== undefined && name !== undefined && name !== 'stock-mirror') found.set(name, folder);
  }
  return found;
}

/** What a program loads that imports one of the package's entries. */
export function packagesOfEntry(installed: Installed, entry: string): Map<string, string> {
  const { exports } = JSON.parse(readFileSync(join(installed.folder, 'package.json'), 'utf8')) as {
    exports: Record<string, { default: string }>;
  };
  const file = exports[entry]?.default;
  if (file === undefined) throw new Error(`the package has no ${entry}`);
  return packagesLoaded([join(installed.folder, file)], installed.folder);
}
