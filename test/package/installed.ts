import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { freePort } from '../shared/free-port.ts';

/** Without the project's commands, which npm puts first in the path. */
export const userEnv: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
  PATH: [
    dirname(process.execPath),
    ...(process.env['PATH'] ?? '').split(delimiter).filter((entry) => !entry.includes('node_modules')),
  ].join(delimiter),
};

export interface Installed {
  readonly prefix: string;
  readonly folder: string;
  readonly packed: readonly string[];
}

export function installPackage(project: string, into: string): Installed {
  mkdirSync(into, { recursive: true });
  const npm = (...args: string[]): string =>
    execFileSync('npm', args, {
      cwd: project,
      env: userEnv,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  const answer = npm('run', '--silent', 'pack', '--', '--json', '--destination', into);
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

/** Bytes of all files below a folder in whole blocks, as `du` counts them; links are not followed. */
export function bytesOnDisk(path: string): number {
  const stat = lstatSync(path);
  const own = stat.blocks * 512;
  if (!stat.isDirectory()) return own;
  return readdirSync(path).reduce((sum, name) => sum + bytesOnDisk(join(path, name)), own);
}

export async function mirrorEnv(folder: string): Promise<NodeJS.ProcessEnv> {
  const secret = 'c'.repeat(40);
  return {
    ...userEnv,
    SERVICE_BASE_URL: 'http://127.0.0.1:9',
    SERVICE_CLIENT_ID: 'package-test',
    SERVICE_CLIENT_SECRET: secret,
    SERVICE_WEBHOOK_SECRET: secret,
    DATABASE_PATH: join(folder, 'mirror.db'),
    PORT: String(await freePort()),
    OPS_PORT: String(await freePort()),
  };
}
