/** The package as a user gets it: packed, installed globally, and run by the Node that the machine has. */
import { once } from 'node:events';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

let folder: string;
let prefix: string;
let packed: readonly string[];

/** npm puts the project's own Node first in the path; a user has no such help. */
const env = {
  ...process.env,
  PATH: (process.env.PATH ?? '')
    .split(delimiter)
    .filter((entry) => !entry.includes('node_modules'))
    .join(delimiter),
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'stock-mirror-package-'));
  prefix = join(folder, 'prefix');
  const answer = npm(['pack', '--json', '--pack-destination', folder]);
  // The build reports on stdout as well, before npm's answer.
  const [pack] = JSON.parse(answer.slice(answer.search(/^\[$/m))) as [
    { filename: string; files: { path: string }[] },
  ];
  packed = pack.files.map(({ path }) => path);
  npm(['install', '--global', '--prefix', prefix, join(folder, pack.filename)]);
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function npm(args: readonly string[]): string {
  return execFileSync('npm', args, {
    cwd: root,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function stockMirror(...args: readonly string[]) {
  // From a folder of its own: a global command must not lean on the project around it.
  return spawnSync(join(prefix, 'bin/stock-mirror'), args, { cwd: folder, env, encoding: 'utf8' });
}

it('prints its usage', () => {
  const { status, stdout, stderr } = stockMirror('--help');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: stock-mirror /);
});

it('prints the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const { status, stdout } = stockMirror('--version');
  expect({ status, stdout }).toEqual({ status: 0, stdout: `${version}\n` });
});

it('refuses what it does not know', () => {
  expect(stockMirror('--frobnicate')).toMatchObject({ status: 2, stdout: '' });
});

it('holds what it needs to run, and neither sources nor secrets', () => {
  expect(packed).toEqual(
    expect.arrayContaining([
      'package.json',
      'LICENSE',
      '.env.example',
      'dist/bin.js',
      'dist/cli.js',
      'scripts/deploy/systemd/stock-mirror.service',
      'scripts/readers/poll-stock.py',
    ]),
  );
  expect(
    packed.filter((path) =>
      /^(src|test|scripts(?!\/(deploy|grafana|prometheus|readers)\/))\/|(^|\/)\.env$|\.db$/.test(path),
    ),
  ).toEqual([]);
});

it('finds the migrations beside dist/', () => {
  // Where src/store and dist/store both look: ../../drizzle.
  expect(existsSync(join(prefix, 'lib/node_modules/stock-mirror/drizzle'))).toBe(
    existsSync(join(root, 'drizzle')),
  );
});

it('runs the simulated service, with its page', async () => {
  const sandbox = spawn(join(prefix, 'bin/stock-mirror'), ['sandbox', '--port', '0', '--rate', '0'], {
    cwd: folder,
    env,
  });
  // A launcher that is killed cannot tell the Node 24 that it started.
  onTestFinished(async () => {
    const ended = once(sandbox, 'exit');
    sandbox.kill('SIGTERM');
    await ended;
  });
  let printed = '';
  sandbox.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  await expect.poll(() => printed, { timeout: 15_000 }).toContain('SERVICE_WEBHOOK_SECRET=');
  const [, page = ''] = /Page: +(\S+)/.exec(printed) ?? [];
  for (const path of ['', 'page/style.css', 'page/script.js', 'openapi.json']) {
    expect((await fetch(page + path)).status, path).toBe(200);
  }
});

it.each([
  ['stock-mirror', ['connectService', 'signBody', 'verifySignature']],
  ['stock-mirror/client', ['ServiceError', 'createClient', 'shippingTypes']],
])('gives %s to other programs, with its types', (name, exported) => {
  // A global package is found by path only, so a program of its own is given a link to it.
  const modules = join(folder, 'node_modules');
  mkdirSync(modules, { recursive: true });
  const link = join(modules, 'stock-mirror');
  if (!existsSync(link)) symlinkSync(join(prefix, 'lib/node_modules/stock-mirror'), link);
  const program = `import * as all from '${name}'; console.log(JSON.stringify(Object.keys(all)));`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual(expect.arrayContaining(exported));
  const { exports } = JSON.parse(readFileSync(join(link, 'package.json'), 'utf8')) as {
    exports: Record<string, { types: string }>;
  };
  const { types } = exports[name.replace('stock-mirror', '.')] ?? { types: 'none' };
  expect(existsSync(join(link, types))).toBe(true);
});
