/** Compiles src/ into dist/: `npm run build`. Part of `npm run pack`. */
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);

/** Ends the process with 1, and leaves no dist/, when it fails. */
export function build(): void {
  const dist = new URL('dist/', root);
  const bin = fileURLToPath(new URL('bin.js', dist));

  // A file that was deleted from src/ must not survive in the package.
  rmSync(dist, { recursive: true, force: true });

  try {
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '--project', 'tsconfig.build.json'], {
      cwd: fileURLToPath(root),
      // What is printed on the standard output is npm's answer alone, when it packs.
      stdio: ['ignore', 2, 2],
    });
  } catch {
    // What tsc wrote in spite of its errors must not be mistaken for a build; it has printed them.
    rmSync(dist, { recursive: true, force: true });
    process.stderr.write('error: the build failed, and dist/ was removed\n');
    process.exit(1);
  }

  writeFileSync(bin, `#!/usr/bin/env node\n${readFileSync(bin, 'utf8')}`);
  chmodSync(bin, 0o755);
}

if (import.meta.main) build();
