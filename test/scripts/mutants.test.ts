/** The machinery of `npm run mutants` bites: what it is told to break is broken, and what nobody notices is named. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCourse, type CourseOptions, type Verdict } from '../../scripts/mutants/course.ts';
import { MUTANTS } from '../../scripts/mutants/list.ts';
import { mutate, type Mutant } from '../../scripts/mutants/mutant.ts';
import { runNode } from '../../scripts/mutants/process.ts';
import { describeSummary, describeVerdict } from '../../scripts/mutants/report.ts';

const SOURCE = 'export const isOlder = (a, b) => a < b;\n';
const root = join(import.meta.dirname, '../..');

function project(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mutants-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ['src', 'drizzle', 'test', 'scripts', 'node_modules']) mkdirSync(join(folder, name));
  for (const name of ['package.json', 'tsconfig.json']) writeFileSync(join(folder, name), '{}');
  writeFileSync(join(folder, 'src/older.ts'), SOURCE);
  return folder;
}

const mutant = (id: string, replace: string, find = 'a < b'): Mutant => ({
  id,
  breaks: `what ${id} breaks`,
  file: 'src/older.ts',
  find,
  replace,
});

/** Catches every copy that differs from the source, as a perfect check would. */
const comparing: CourseOptions['check'] = (folder) => {
  const text = readFileSync(join(folder, 'src/older.ts'), 'utf8');
  return Promise.resolve(text === SOURCE ? null : { by: 'a comparison', saying: text.trim() });
};

async function course(
  mutants: Mutant[],
  check = comparing,
): Promise<{ folder: string; verdicts: readonly Verdict[] }> {
  const folder = project();
  const verdicts = await runCourse({ root: folder, mutants, atOnce: 2, check, onVerdict: () => undefined });
  return { folder, verdicts };
}

test('a mutant is caught in a copy of its own, and one that changes nothing is named as a survivor', async () => {
  const seen: string[] = [];
  const { folder, verdicts } = await course(
    [mutant('loose', 'a <= b'), mutant('no-op', 'a < b'), mutant('pattern', '$& || b')],
    (copy, one) => {
      seen.push(copy);
      expect(readFileSync(join(folderOf(copy), 'original/src/older.ts'), 'utf8')).toBe(SOURCE);
      return comparing(copy, one);
    },
  );
  const caught = Object.fromEntries(verdicts.map((verdict) => [verdict.mutant.id, verdict.caught?.saying]));
  expect(caught).toEqual({
    loose: 'export const isOlder = (a, b) => a <= b;',
    'no-op': undefined,
    pattern: 'export const isOlder = (a, b) => $& || b;',
  });
  expect(readFileSync(join(folder, 'src/older.ts'), 'utf8')).toBe(SOURCE);
  expect(seen.length).toBe(4);
  expect(seen.filter(existsSync)).toEqual([]);

  const told = verdicts.map(describeVerdict).join('\n');
  expect(told).toMatch(/^loose +\d+ s {2}a comparison: export/m);
  expect(told).toMatch(/^no-op +\d+ s {2}SURVIVED$/m);
  expect(describeSummary(verdicts, 12)).toContain('2 of 3 mutants caught in 12 s');
  expect(describeSummary(verdicts, 12)).toContain('no-op (src/older.ts): what no-op breaks');
});

const folderOf = (copy: string): string => join(copy, '..');

test('a mutant whose text is not there, or there twice, ends the run before any check', async () => {
  const never: CourseOptions['check'] = () => Promise.reject(new Error('checked'));
  await expect(course([mutant('gone', 'x', 'a > b')], never)).rejects.toThrow(
    'mutant gone no longer applies: its text occurs 0 times in src/older.ts',
  );
  await expect(course([mutant('twice', 'x', 'b')], never)).rejects.toThrow('occurs 2 times');
});

test('source that fails unmutated ends the run: nothing would be proven', async () => {
  const failing: CourseOptions['check'] = () => Promise.resolve({ by: 'seed 7', saying: 'a fault' });
  await expect(course([mutant('loose', 'a <= b')], failing)).rejects.toThrow(
    'the unmutated source fails, by seed 7: a fault',
  );
});

test('a process that says nothing any more is killed, and one that ends badly is told apart', async () => {
  const run = (code: string, silenceMs = 20_000) => runNode({ folder: root, args: ['-e', code], silenceMs });
  expect((await run('console.log("done")')).how).toBe('ok');
  expect(await run('console.error("broken"); process.exit(3)')).toMatchObject({
    how: 'failed',
    lastLines: ['broken'],
  });
  const hung = await run('for (;;);', 300);
  expect(hung.how).toBe('killed');
  expect(() => process.kill(hung.pid, 0)).toThrow('ESRCH');
});

test('every mutant of the list applies to the source as it is, and has a name of its own', () => {
  expect(new Set(MUTANTS.map(({ id }) => id)).size).toBe(MUTANTS.length);
  for (const one of MUTANTS) {
    const source = readFileSync(join(root, one.file), 'utf8');
    expect(mutate(source, one), one.id).not.toBe(source);
    for (const file of one.tests ?? []) expect(existsSync(join(root, file)), file).toBe(true);
  }
});
