/**
 * `npm run broken-rules`: breaks a rule of receiving or of the way in on purpose, in a copy of the program, and expects that the
 * simulation (or the named test, where the rule lies below the simulation's seam) sees it.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { decimal, whole } from '../src/cli/shared/flags.ts';
import { broken, BROKEN_RULES, type BrokenRule } from './broken-rules/rules.ts';

const { seeds, minutes, only } = new Command('npm run broken-rules --')
  .description(
    'Breaks rules of receiving and of the way in, one at a time in a copy of the program; the simulation must see each.',
  )
  .option('--seeds <n>', 'of the simulation, for each rule', whole(1, 1e6), 40)
  .option('--minutes <m>', 'begin no further seed of a rule after this time', decimal(0, 1e6), 3)
  .option('--only <text>', 'only rules whose name contains the text')
  .parse()
  .opts<{ seeds: number; minutes: number; only?: string }>();
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
function seenIn(folder: string, { test, from = 1 }: BrokenRule): string | null {
  const args =
    test === undefined
      ? [
          'scripts/simulate.ts',
          ...['--kind', 'lives', '--from', String(from), '--seeds', String(seeds)],
          ...['--minutes', String(minutes), '--first-failure'],
        ]
      : ['node_modules/vitest/vitest.mjs', 'run', test];
  const env = { ...process.env, NO_COLOR: '1' };
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env });
  if (status === 0) return null;
  return stdout.split('\n').find((line) => /failed: |FAIL /.test(line)) ?? stdout.slice(-500);
}

let unseen = 0;
for (const rule of BROKEN_RULES) {
  if (only !== undefined && !rule.name.includes(only)) continue;
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
