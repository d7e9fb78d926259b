/**
 * Whether the project installs on the machines of those who clone it: `npm run try-install [-- --only TEXT]`. Fresh
 * clones of what is committed, `npm ci`, and then the program itself by npm; with npm 10 and 11, on Node 20, 22 and 24,
 * with and without Python and compilers, as root and as a user without rights; and the package, installed globally, and as
 * a dependency of a project with a lockfile. Prints a table, and ends with 1 when a row of it fails. Each step is given up after five minutes.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../', import.meta.url));
const STEP_MS = 300_000;
const COMPILERS =
  /^(python|pypy|gcc|g\+\+|cc$|c\+\+|clang|make$|gmake$|cpp|c89|c99|.*-linux-gnu-(gcc|g\+\+|cpp))/;
const NOBODY = 65_534;

interface Case {
  readonly node: 20 | 22 | 24;
  readonly npm: 10 | 11;
  readonly compilers: boolean;
  readonly user: 'root' | 'nobody';
  readonly what: 'clone' | 'package' | 'dependency';
}

const CASES: readonly Case[] = [
  { node: 20, npm: 10, compilers: false, user: 'root', what: 'clone' },
  { node: 20, npm: 11, compilers: false, user: 'root', what: 'clone' },
  { node: 20, npm: 10, compilers: true, user: 'root', what: 'clone' },
  { node: 20, npm: 10, compilers: false, user: 'nobody', what: 'clone' },
  { node: 22, npm: 10, compilers: false, user: 'nobody', what: 'clone' },
  { node: 22, npm: 11, compilers: true, user: 'root', what: 'clone' },
  { node: 24, npm: 10, compilers: false, user: 'root', what: 'clone' },
  { node: 24, npm: 11, compilers: false, user: 'nobody', what: 'clone' },
  { node: 24, npm: 11, compilers: true, user: 'root', what: 'clone' },
  { node: 22, npm: 10, compilers: false, user: 'root', what: 'package' },
  { node: 24, npm: 11, compilers: false, user: 'nobody', what: 'package' },
  { node: 22, npm: 10, compilers: false, user: 'root', what: 'dependency' },
  { node: 24, npm: 11, compilers: false, user: 'nobody', what: 'dependency' },
];

const nameOf = ({ what, node, npm, compilers, user }: Case): string =>
  `${what}, Node ${node}, npm ${npm}, ${compilers ? 'compilers' : 'no compilers'}, ${user}`;

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });

const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-try-'));
chmodSync(folder, 0o755);
const outerPath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((entry) => !entry.includes('node_modules'));

/** What npm adds for the scripts that it runs would speak to the npm that is tried. */
const OUTER =
  /^(npm_(lifecycle|package|node|execpath|command|config_(\w*prefix|user_agent|node_gyp|npm_version|globalconfig|cache|ignore_scripts))|INIT_CWD$|NODE$|NODE_OPTIONS$|NODE_COMPILE_CACHE$)/i;
const baseEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OUTER.test(name)));

/** The machine's commands, but for Node, npm, and all that compiles unless it is wanted. */
function makePath(compilers: 'with' | 'without'): string {
  const bin = join(folder, compilers);
  mkdirSync(bin);
  const taken = new Set(['node', 'npm', 'npx', 'corepack', 'nodejs']);
  for (const each of outerPath) {
    for (const command of list(each)) {
      if (taken.has(command) || (compilers === 'without' && COMPILERS.test(command))) continue;
      taken.add(command);
      symlinkSync(join(each, command), join(bin, command));
    }
  }
  return bin;
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function run(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
): void {
  execFileSync(command, args, { env: baseEnv, timeout: STEP_MS, stdio: 'pipe', ...options });
}

/** Node and npm from their packages, into a folder of their own: the tool that is tried, not a part of the project. */
function fetchTool(spec: string): string {
  const into = join(folder, spec.replace('@', '-'));
  mkdirSync(into);
  run('npm', ['install', '--prefix', into, '--ignore-scripts', '--no-save', '--no-package-lock', spec], {
    cwd: into,
  });
  return join(into, 'node_modules');
}

const systemNode = execFileSync('sh', ['-c', 'command -v node'], {
  env: { ...baseEnv, PATH: outerPath.join(delimiter) },
  encoding: 'utf8',
}).trim();
const systemMajor = Number(
  execFileSync(systemNode, ['--version'], { encoding: 'utf8' }).slice(1).split('.')[0],
);

const tools = new Map<string, string>();
function tool(spec: string, path: string): string {
  const known = tools.get(spec) ?? fetchTool(spec);
  tools.set(spec, known);
  return join(known, path);
}

function nodeOf(version: Case['node']): string {
  if (version === systemMajor) return systemNode;
  const name = `node-${process.platform}-${process.arch}`;
  return tool(`${name}@${version}`, `${name}/bin/node`);
}

const paths = { true: makePath('with'), false: makePath('without') };

/** @returns why it fails; null when it does not. */
function attempt(each: Case, at: string): string | null {
  const own = join(at, 'bin');
  const home = join(at, 'home');
  const cache = join(folder, `cache-${each.user}`);
  for (const made of [own, home, cache]) mkdirSync(made, { recursive: true });
  symlinkSync(nodeOf(each.node), join(own, 'node'));
  const npm = tool(`npm@${each.npm}`, 'npm/bin/npm-cli.js');
  symlinkSync(npm, join(own, 'npm'));
  const env = {
    ...baseEnv,
    PATH: [own, paths[`${each.compilers}`]].join(delimiter),
    npm_config_cache: cache,
    ...(each.user === 'nobody' ? { HOME: home, USER: 'nobody' } : {}),
    CI: 'true',
  };
  const project = join(at, 'project');
  if (each.what === 'clone')
    run('git', ['clone', '--quiet', '--depth', '1', `file://${root}`, project], { cwd: at });
  else mkdirSync(project);
  if (each.what === 'dependency') writeFileSync(join(project, 'package.json'), '{"private": true}');
  if (each.user === 'nobody') run('chown', ['-R', `${NOBODY}:${NOBODY}`, at, cache], { cwd: folder });

  const demo = ['--seconds', '10', '--products', '10'];
  const steps: Readonly<Record<Case['what'], () => readonly [cwd: string, ...command: string[]][]>> = {
    clone: () => [
      [project, 'npm', 'ci'],
      // Vitest, and the database's binary.
      [project, 'npm', 'test', '--', 'test/sqlite/open.test.ts'],
      [project, 'npm', 'run', 'demo', '--', ...demo],
    ],
    package: () => [
      [project, 'npm', 'install', '--global', '--prefix', join(at, 'prefix'), packed()],
      [project, join(at, 'prefix/bin/stock-mirror'), 'demo', ...demo],
    ],
    dependency: () => [
      [project, 'npm', 'install', packed()],
      [project, 'npm', 'ci'],
      [project, join(project, 'node_modules/.bin/stock-mirror'), 'demo', ...demo],
    ],
  };
  for (const [cwd, ...command] of steps[each.what]()) {
    const ended = spawnSync('env', command, {
      cwd,
      env,
      encoding: 'utf8',
      timeout: STEP_MS,
      ...(each.user === 'nobody' ? { uid: NOBODY, gid: NOBODY } : {}),
    });
    if (ended.status !== 0) {
      const last = `${ended.stdout}\n${ended.stderr}`.trim().split('\n').slice(-12).join('\n    ');
      return `${command.join(' ')}: ${ended.error?.message ?? `exit code ${ended.status}`}\n    ${last}`;
    }
  }
  return null;
}

let file: string | null = null;
function packed(): string {
  if (file === null) {
    const into = join(folder, 'packed');
    // Again after a failure, which is then told of each case.
    mkdirSync(into, { recursive: true });
    // By the project's own Node, which runs this script.
    const env = { ...baseEnv, PATH: [dirname(process.execPath), ...outerPath].join(delimiter) };
    run('npm', ['run', '--silent', 'pack', '--', '--destination', into], { cwd: root, env });
    const name = readdirSync(into).find((each) => each.endsWith('.tgz'));
    if (name === undefined) throw new Error('npm run pack made no file');
    file = join(into, name);
  }
  return file;
}

let failures = 0;
try {
  accessSync(join(root, 'package-lock.json'), constants.R_OK);
  for (const [number, each] of CASES.entries()) {
    const name = nameOf(each);
    if (!name.includes(values.only)) continue;
    if (process.getuid?.() !== 0 && each.user === 'nobody') {
      console.log(`skipped  ${name}: only root can become another user`);
      continue;
    }
    const at = join(folder, `case-${number}`);
    mkdirSync(at);
    const startedAtMs = performance.now();
    let failure;
    try {
      failure = attempt(each, at);
    } catch (error) {
      failure = String(error);
    }
    const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(0);
    if (failure !== null) failures += 1;
    console.log(
      `${failure === null ? 'passes ' : 'FAILS  '}  ${name}, ${seconds} s${failure === null ? '' : `\n    ${failure}`}`,
    );
    rmSync(at, { recursive: true });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;
