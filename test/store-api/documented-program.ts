/** Runs the programs in docs/client-library.md. */
import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { blockWith, documentAt, ROOT } from '../docs/blocks.ts';

/**
 * Writes a program of the document into a folder, where it finds the package and what the package depends on.
 * @param part what only this program contains.
 * @returns its path.
 */
export function programIn(folder: string, part: string): string {
  const { text } = blockWith(documentAt('docs/client-library.md'), 'ts', part);
  const path = join(folder, `${part.replaceAll(/\W+/g, '-')}.mts`);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const entry = JSON.stringify(join(ROOT, 'src/client.ts'));
  writeFileSync(path, text.replaceAll(/'stock-mirror(\/client)?'/g, entry));
  return path;
}

/** @returns its output. Rejects if it fails. */
export async function runProgram(
  path: string,
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [path], {
    cwd: folder,
    env: { ...process.env, ...env },
    timeout: 120_000,
  });
  return stdout;
}
