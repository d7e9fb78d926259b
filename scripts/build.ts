/** Makes dist/ of src/: `npm run build`. Part of `npm run pack`. */
import { chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from './build/bundle.ts';
import { declare } from './build/declarations.ts';
import { licencesOf } from './build/licences.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

/** Not what only its editor and its checks need. */
const isPageFile = (path: string): boolean => !path.endsWith('.json');

/** @returns the packages that dist/ needs beside it. Ends the process with 1, and leaves no dist/, when it fails. */
export async function build(): Promise<ReadonlySet<string>> {
  const dist = join(root, 'dist');
  // A file that was deleted from src/ must not survive in the package.
  rmSync(dist, { recursive: true, force: true });
  try {
    const { imported, held } = await bundle(root, dist);
    const named = declare(root, dist);
    cpSync(join(root, 'src/web/page'), join(dist, 'page'), { recursive: true, filter: isPageFile });
    writeFileSync(join(dist, 'third-party-licences.txt'), licencesOf(root, held));
    const bin = join(dist, 'bin.js');
    writeFileSync(bin, `#!/usr/bin/env node\n${readFileSync(bin, 'utf8')}`);
    chmodSync(bin, 0o755);
    return new Set([...imported, ...named]);
  } catch (error) {
    // What was written in spite of the error must not be mistaken for a build.
    rmSync(dist, { recursive: true, force: true });
    process.stderr.write(`error: the build failed, and dist/ was removed: ${String(error)}\n`);
    process.exit(1);
  }
}

if (import.meta.main) await build();
