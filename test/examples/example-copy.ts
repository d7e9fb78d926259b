/** A copy of an example's folder, with its packages, as its README has users make it. */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, type Owner } from '../process/harness.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The package is linked, since Node strips no types of files that are below node_modules. */
export function exampleCopy(test: Owner, name: string): string {
  const folder = temporaryFolder(test);
  cpSync(join(ROOT, 'examples', name), folder, { recursive: true });
  const modules = join(folder, 'node_modules');
  const own = join(modules, 'stock-mirror');
  mkdirSync(own, { recursive: true });
  symlinkSync(join(ROOT, 'src'), join(own, 'src'));
  const manifest = { name: 'stock-mirror', type: 'module', exports: { './feed': './src/feed.ts' } };
  writeFileSync(join(own, 'package.json'), JSON.stringify(manifest));
  symlinkSync(join(ROOT, 'node_modules/pg'), join(modules, 'pg'));
  return folder;
}
