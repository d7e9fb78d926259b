/**
 * Makes the package: `npm run pack -- [--destination FOLDER] [--json]`. It builds, lays out in a folder of its own what
 * `files` names, and packs that. Not `npm pack`: the project runs no scripts for it (.npmrc), so it would pack whatever
 * dist/ there is; and the package does without what only the project needs, first of all a Node of its own. To publish:
 * `npm publish` with the file that this makes; the project itself is private, so that nothing else is published.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from './build.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

/** What npm packs whether or not it is named, and what only the project needs. */
const ALWAYS = ['README.md', 'LICENSE'];
const OF_THE_PROJECT = ['private', 'scripts', 'devDependencies', 'optionalDependencies', 'allowScripts'];

interface Manifest {
  readonly files: readonly string[];
}

/** The manifest that users get. */
export function manifestOfPackage(): Manifest & Record<string, unknown> {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  const kept = Object.entries(manifest).filter(([name]) => !OF_THE_PROJECT.includes(name));
  return Object.fromEntries(kept) as ReturnType<typeof manifestOfPackage>;
}

function pack(destination: string, isJson: boolean): void {
  build();
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-pack-'));
  try {
    const manifest = manifestOfPackage();
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    for (const path of new Set([...manifest.files, ...ALWAYS])) {
      if (!existsSync(join(root, path))) throw new Error(`there is no ${path}, which package.json names`);
      cpSync(join(root, path), join(folder, path), { recursive: true });
    }
    const args = ['pack', '--pack-destination', resolve(destination), ...(isJson ? ['--json'] : [])];
    // npm is a script of its own on Windows, which only a shell starts.
    execFileSync('npm', args, { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { destination: { type: 'string', default: '.' }, json: { type: 'boolean', default: false } },
  });
  pack(values.destination, values.json);
}
