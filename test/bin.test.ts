/**
 * The installed command under a Node that is too old, for real: only an old Node shows that the files load on one.
 * Skipped where the machine has none.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNodeSupported } from '../src/node-requirement.ts';

const OLD_NODE = '/usr/bin/node';
const BUNDLED_NAME = `node-${process.platform}-${process.arch}`;
const BUNDLED = fileURLToPath(new URL(`../node_modules/${BUNDLED_NAME}`, import.meta.url));

function oldVersion(): string | undefined {
  try {
    const version = execFileSync(OLD_NODE, ['--version'], { encoding: 'utf8' }).trim().slice(1);
    return isNodeSupported(version) ? undefined : version;
  } catch {
    return undefined;
  }
}

/** A stand-in for the program: tells how it was run, and ends in each way a program can. */
const CLI = `
const [verb, argument] = process.argv.slice(2);
if (verb === 'exit') process.exitCode = Number(argument);
else if (verb === 'die') process.kill(process.pid, argument);
else if (verb === 'wait') {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => { console.log(signal); process.exit(7); });
  }
  setInterval(() => {}, 1000);
  console.log('ready');
} else {
  console.log(JSON.stringify({ version: process.versions.node, parent: process.ppid, args: process.argv.slice(2) }));
  process.stdin.pipe(process.stderr);
}
`;

const old = oldVersion();

describe.skipIf(old === undefined)(`under an old Node (${old ?? 'none here'})`, () => {
  let root: string;
  let bin: string;

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'stock-mirror-bin-'));
    bin = install('with-node', BUNDLED);
  });
  afterAll(() => {
    rmSync(root, { recursive: true });
  });

  /** A package as npm lays it out, with the compiled entry files, and `node` as its optional dependency. */
  function install(name: string, node?: string): string {
    const folder = join(root, name);
    mkdirSync(join(folder, 'dist'), { recursive: true });
    mkdirSync(join(folder, 'node_modules'));
    if (node !== undefined) symlinkSync(node, join(folder, 'node_modules', BUNDLED_NAME));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'dist/cli.js'), CLI);
    for (const file of ['bin', 'node-requirement', 'node-version']) {
      const source = readFileSync(new URL(`../src/${file}.ts`, import.meta.url), 'utf8');
      const compilerOptions = {
        target: ts.ScriptTarget.ES2024,
        module: ts.ModuleKind.ESNext,
        rewriteRelativeImportExtensions: true,
      };
      writeFileSync(
        join(folder, `dist/${file}.js`),
        ts.transpileModule(source, { compilerOptions }).outputText,
      );
    }
    return join(folder, 'dist/bin.js');
  }

  function run(file: string, args: readonly string[], input = '') {
    return spawnSync(OLD_NODE, [file, ...args], { encoding: 'utf8', input });
  }

  it('runs the program under the Node that came with it', () => {
    const { status, stdout, stderr } = run(bin, ['a', '--b', 'c d'], 'typed in');
    const seen = JSON.parse(stdout) as { version: string; args: string[] };
    expect(isNodeSupported(seen.version)).toBe(true);
    expect(seen.args).toEqual(['a', '--b', 'c d']);
    expect(stderr).toBe('typed in');
    expect(status).toBe(0);
  });

  it('runs the program in its own process under a Node that is new enough', () => {
    const { stdout } = spawnSync(process.execPath, [bin], { encoding: 'utf8', input: '' });
    expect(JSON.parse(stdout)).toMatchObject({ parent: process.pid });
  });

  it.each([0, 1, 2, 130])('ends with its exit code %i', (code) => {
    expect(run(bin, ['exit', String(code)]).status).toBe(code);
  });

  it.each(['SIGKILL', 'SIGTERM', 'SIGINT'])('ends by %s when it does', (signal) => {
    expect(run(bin, ['die', signal]).signal).toBe(signal);
  });

  it.each<NodeJS.Signals>(['SIGINT', 'SIGTERM', 'SIGHUP'])('passes %s on', async (signal) => {
    // A process group of its own, so that the signal reaches the child through its parent alone.
    const child = spawn(OLD_NODE, [bin, 'wait'], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
    const output = collect(child);
    await once(child.stdout, 'data');
    child.kill(signal);
    expect(await once(child, 'close')).toEqual([7, null]);
    expect(output()).toBe(`ready\n${signal}\n`);
  });

  it('says what is needed when no Node came with it', () => {
    const { status, stdout, stderr } = run(install('without-node'), []);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(`stock-mirror needs Node.js 22.18 or newer, and this is ${old ?? ''}`);
  });

  it('says what is needed when the Node that came with it does not start', () => {
    const broken = join(root, 'broken');
    mkdirSync(join(broken, 'bin'), { recursive: true });
    writeFileSync(join(broken, 'package.json'), '{}');
    writeFileSync(join(broken, 'bin/node'), 'not a program', { mode: 0o644 });
    const { status, stderr } = run(install('with-broken-node', broken), []);
    expect(status).toBe(2);
    expect(stderr).toContain('stock-mirror needs Node.js 22.18 or newer');
  });

  it('stops an entry that was started directly', () => {
    const { status, stderr } = run(join(bin, '../node-version.js'), []);
    expect(status).toBe(2);
    expect(stderr).toContain('stock-mirror needs Node.js 22.18 or newer');
  });
});

function collect(child: ChildProcess): () => string {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return () => text;
}
