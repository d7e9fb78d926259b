/**
 * `npm run broken-rules`: breaks a rule of receiving on purpose, in a copy of the program, and expects that the
 * simulation (or the named test, where the rule lies below the simulation's seam) sees it.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { broken, BROKEN_RULES, type BrokenRule } from './broken-rules/rules.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '40' },
    minutes: { type: 'string', default: '3' },
    only: { type: 'string' },
  },
});
const ROOT = join(import.meta.dirname, '..');
const COPIED = ['src', 'test', 'scripts', 'drizzle', 'package.json', 'vitest.config.ts', 'tsconfig.json'];

function copyProgram({ changes }: BrokenRule): string {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-broken-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const change of changes) {
    const path = join(folder, change.file);
    writeFileSync(path, broken(readFileSync(path, 'utf8'), change));
  }
  return folder;
}

/** @returns the first line that reports the broken rule; null if nothing saw it. */
function seenIn(folder: string, { test }: BrokenRule): string | null {
  const args =
    test === undefined
      ? [
          'scripts/simulate.ts',
          ...['--kind', 'lives', '--seeds', values.seeds, '--minutes', values.minutes, '--first-failure'],
        ]
      : ['node_modules/vitest/vitest.mjs', 'run', test];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  if (status === 0) return null;
  return stdout.split('\n').find((line) => /failed: |FAIL /.test(line)) ?? stdout.slice(-500);
}

let unseen = 0;
for (const rule of BROKEN_RULES) {
  if (values.only !== undefined && !rule.name.includes(values.only)) continue;
  const folder = copyProgram(rule);
  try {
    const seen = seenIn(folder, rule);
    if (seen === null) unseen += 1;
    console.log(
      `${seen === null ? 'NOT SEEN' : 'seen'}  ${rule.name}${seen === null ? '' : `\n      ${seen}`}`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
process.exitCode = unseen === 0 ? 0 : 1;
