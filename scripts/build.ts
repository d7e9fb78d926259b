/** Builds dist/ from src/: `npm run build`, part of `npm run pack`. */
import { chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from './build/bundle.ts';
import { declare } from './build/declarations.ts';
import { licencesOf } from './build/licences.ts';
import { LIBRARY_FILES } from '../src/web/files.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

/** Without files that only the type checker needs. */
const isServed = (path: string): boolean => !/\.(?:d\.ts|json)$/.test(path);

/** @returns the packages that dist/ imports. On failure, removes dist/ and exits with 1. */
export async function build(): Promise<ReadonlySet<string>> {
  const dist = join(root, 'dist');
  // Files deleted from src/ must not stay in the package.
  rmSync(dist, { recursive: true, force: true });
  try {
    const { imported, held } = await bundle(root, dist);
    const named = declare(root, dist);
    cpSync(join(root, 'src/web/page'), join(dist, 'page'), { recursive: true, filter: isServed });
    const libraries = Object.entries(LIBRARY_FILES).map(([name, path]) => {
      cpSync(join(root, 'node_modules', path), join(dist, 'page', name));
      return join(root, 'node_modules', /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? '');
    });
    const licences = licencesOf(root, new Set([...held, ...libraries]));
    writeFileSync(join(dist, 'third-party-licences.txt'), licences);
    const bin = join(dist, 'bin.js');
    writeFileSync(bin, `#!/usr/bin/env node\n${readFileSync(bin, 'utf8')}`);
    chmodSync(bin, 0o755);
    return new Set([...imported, ...named]);
  } catch (error) {
    // Partial output must not pass for a build.
    rmSync(dist, { recursive: true, force: true });
    process.stderr.write(`error: the build failed, and dist/ was removed: ${String(error)}\n`);
    process.exit(1);
  }
}

if (import.meta.main) await build();
