/**
 * The installed command under a Node that is too old, for real: only an old Node shows that the files load on one.
 * Skipped where the machine has none.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNodeSupported } from '../src/platform/node-requirement.ts';

const OLD_NODE = '/usr/bin/node';

function oldVersion(): string | undefined {
  try {
    const version = execFileSync(OLD_NODE, ['--version'], { encoding: 'utf8' }).trim().slice(1);
    return isNodeSupported(version) ? undefined : version;
  } catch {
    return undefined;
  }
}

const old = oldVersion();

describe.skipIf(old === undefined)(`under an old Node (${old ?? 'none here'})`, () => {
  let folder: string;

  /** A package as npm lays it out, with the compiled entry files, and a stand-in for the program. */
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'stock-mirror-bin-'));
    mkdirSync(join(folder, 'dist'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(
      join(folder, 'dist/cli.js'),
      'console.log(JSON.stringify({ parent: process.ppid, args: process.argv.slice(2) }));',
    );
    mkdirSync(join(folder, 'dist/platform'));
    for (const file of [
      'bin',
      'platform/compile-cache',
      'platform/node-requirement',
      'platform/node-version',
    ]) {
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
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  const run = (node: string, file: string, ...args: string[]) =>
    spawnSync(node, [join(folder, 'dist', file), ...args], { encoding: 'utf8' });

  it.each([
    ['the command', 'bin.js'],
    ['an entry that was started directly', 'platform/node-version.js'],
  ])('%s says what is needed, and how to get it', (_, file) => {
    const { status, stdout, stderr } = run(OLD_NODE, file, 'status');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(`stock-mirror needs Node.js 22.19 or newer, and this is ${old ?? ''}`);
    expect(stderr).toContain('https://nodejs.org');
  });

  it('runs the program in its own process under a Node that is new enough', () => {
    const { stdout } = run(process.execPath, 'bin.js', 'a', '--b', 'c d');
    expect(JSON.parse(stdout)).toEqual({ parent: process.pid, args: ['a', '--b', 'c d'] });
  });
});
