/** The program that README's section "Library" shows, run as a partner would. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');

/**
 * @param folder where it stands, and keeps its token.
 * @returns what it printed. Rejects when it fails.
 */
export async function runReadmeProgram(
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [, program = ''] = /## Library\n[^]*?```ts\n([^]*?)```/.exec(readme) ?? [];
  const path = join(folder, 'program.mts');
  writeFileSync(path, program.replace("'stock-mirror/client'", JSON.stringify(join(root, 'src/client.ts'))));
  const { stdout } = await promisify(execFile)(process.execPath, [path], {
    cwd: folder,
    env: { ...process.env, ...env },
    timeout: 60_000,
  });
  return stdout;
}
