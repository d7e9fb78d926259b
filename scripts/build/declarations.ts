/** The package's types: `.d.ts` files for src/client.ts, src/feed.ts and their imports. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

/** @returns the packages that the types import. @throws Error when tsc has reported errors. */
export function declare(root: string, into: string): Set<string> {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '--project', 'tsconfig.build.json', '--outDir', into], {
    cwd: root,
    // When packing, stdout is npm's output alone.
    stdio: ['ignore', 2, 2],
  });
  const packages = new Set<string>();
  const needed = new Set([join(into, 'client.d.ts'), join(into, 'feed.d.ts')]);
  for (const file of needed) {
    for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()['"]([^'"]+)['"]/g)) {
      if (from.startsWith('.')) needed.add(resolve(dirname(file), from.replace(/\.[jt]s$/, '.d.ts')));
      else if (!from.startsWith('node:')) packages.add(from);
    }
  }
  // tsc writes one for each file that it reads.
  for (const path of readdirSync(into, { recursive: true, encoding: 'utf8' })) {
    if (path.endsWith('.d.ts') && !needed.has(join(into, path))) rmSync(join(into, path));
  }
  return packages;
}
