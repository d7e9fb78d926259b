import { once } from 'node:events';
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { bytesOnDisk, installPackage, mirrorEnv, userEnv as env, type Installed } from './installed.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

let folder: string;
let installed: Installed;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'stock-mirror-package-'));
  installed = installPackage(root, join(folder, 'installed'));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function stockMirror(...args: readonly string[]) {
  return spawnSync(join(installed.prefix, 'bin/stock-mirror'), args, { cwd: folder, env, encoding: 'utf8' });
}

it('prints its usage', () => {
  const { status, stdout, stderr } = stockMirror('--help');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: stock-mirror /);
});

it('contains what it needs and neither sources nor secrets', () => {
  expect(installed.packed).toEqual(
    expect.arrayContaining([
      'package.json',
      'LICENSE',
      'CONTRIBUTING.md',
      'SECURITY.md',
      '.env.example',
      'dist/bin.js',
      'dist/cli.js',
      'dist/third-party-licences.txt',
      'docs/operating.md',
      'deploy/systemd/stock-mirror@.service',
      'examples/copy-stock/copy-stock.py',
    ]),
  );
  expect(
    installed.packed.filter((path) =>
      /^(src|test|scripts(?!\/(deploy|grafana|prometheus|readers)\/))\/|(^|\/)\.env$|\.db$/.test(path),
    ),
  ).toEqual([]);
});

it('names the optional packages that a stream needs', async () => {
  const more = { ...(await mirrorEnv(folder)), STREAM_URL: 'nats://127.0.0.1:9' };
  const command = join(installed.prefix, 'bin/stock-mirror');
  const { status, stderr } = spawnSync(command, ['serve'], { cwd: folder, env: more, encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr).toMatch(/STREAM_URL needs packages that are not installed\n +Run `npm install @nats-io/);
});

it('has a manifest without development fields', () => {
  const manifest = JSON.parse(readFileSync(join(installed.folder, 'package.json'), 'utf8')) as object;
  for (const name of ['private', 'scripts', 'devDependencies', 'optionalDependencies']) {
    expect(manifest).not.toHaveProperty(name);
  }
  for (const name of ['engines', 'keywords', 'license']) {
    expect(manifest).toHaveProperty(name);
  }
});

it('has nothing that npm compiles or runs', () => {
  // With a lockfile npm compiles any package with a binding.gyp.
  const below = (name: string): string[] =>
    globSync(`**/${name}`, { cwd: installed.prefix }).map((path) => join(installed.prefix, path));
  expect(below('binding.gyp')).toEqual([]);
  const manifests = below('package.json').filter(
    (path) => !/\/(dist|esm|cjs|lib|es)\/package.json$/.test(path),
  );
  expect(manifests.length).toBeGreaterThan(2);
  for (const path of manifests) {
    const { scripts = {} } = JSON.parse(readFileSync(path, 'utf8')) as { scripts?: Record<string, string> };
    expect([path, ...Object.keys(scripts)]).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(pre|post)?install$/)]),
    );
  }
});

it('contains the unchanged binaries of the database with their licence', () => {
  const bundled = join(installed.folder, 'node_modules/better-sqlite3');
  const own = join(root, 'node_modules/better-sqlite3');
  const binaries = readdirSync(join(own, 'prebuilds'));
  expect(binaries).toContain('linux-x64.node');
  for (const file of ['LICENSE', 'lib/index.js', ...binaries.map((name) => `prebuilds/${name}`)]) {
    expect(readFileSync(join(bundled, file)).equals(readFileSync(join(own, file))), file).toBe(true);
  }
});

it('needs at most 40 MB with all dependencies', () => {
  expect(bytesOnDisk(installed.prefix)).toBeLessThan(40 * 2 ** 20);
});

/** A Node of the system that is older than the package supports. */
const OLD_NODE = '/usr/bin/node';
const { stdout: oldVersion } = spawnSync(OLD_NODE, ['--version'], { encoding: 'utf8' });
const hasOldNode = /^v(?:1?\d|2[01])\./.test(oldVersion ?? '');

it.runIf(hasOldNode)('names the Node that it needs under an older one', () => {
  const bin = join(installed.folder, 'dist/bin.js');
  const { status, stdout, stderr } = spawnSync(OLD_NODE, [bin, 'status'], { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain('stock-mirror needs Node.js');
});

it('serves pages, API and metrics', async () => {
  const home = mkdtempSync(join(folder, 'home-'));
  const env = await mirrorEnv(home);
  const mirror = spawn(process.execPath, [join(installed.folder, 'dist/bin.js'), 'serve'], {
    cwd: home,
    env,
  });
  const ended = once(mirror, 'exit');
  onTestFinished(async () => {
    mirror.kill('SIGTERM');
    await ended;
  });
  let printed = '';
  mirror.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  let errors = '';
  mirror.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  await expect.poll(() => printed).toContain('"listening"');
  const ops = `http://127.0.0.1:${env['OPS_PORT'] ?? ''}`;
  for (const path of ['/', '/deliveries', '/openapi.json', '/metrics', '/api/status', '/api/stock']) {
    await expect.poll(async () => (await fetch(ops + path)).status, { message: path }).toBe(200);
  }
  // Ignored, by the installed command too: Node would open its inspector.
  mirror.kill('SIGUSR1');
  for (let n = 0; n < 50; n += 1) await fetch(`${ops}/metrics`);
  expect(errors).toBe('');
  mirror.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

it('depends on better-sqlite3 and zod only', () => {
  const manifest = JSON.parse(readFileSync(join(installed.folder, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  expect(Object.keys(manifest.dependencies)).toEqual(['better-sqlite3', 'zod']);
});

it.each([
  ['stock-mirror', ['createClient', 'signBody', 'verifySignature', 'webhooks']],
  ['stock-mirror/feed', ['FeedError', 'follow']],
  ['stock-mirror/client', ['ServiceError', 'createClient', 'shippingTypes']],
])('exports %s with its types', (name, exported) => {
  const modules = join(folder, 'node_modules');
  mkdirSync(modules, { recursive: true });
  const link = join(modules, 'stock-mirror');
  if (!existsSync(link)) symlinkSync(join(installed.prefix, 'lib/node_modules/stock-mirror'), link);
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
