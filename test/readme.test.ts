/** What README refers to is there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

function section(title: string): string {
  const [, text] = readme.split(`## ${title}\n`);
  return text?.split('\n## ')[0] ?? '';
}

test('every line of "What happens when" names tests that exist', () => {
  const rows = section('What happens when…')
    .split('\n')
    .filter((line) => /^\| (?!when |-)/.test(line));
  expect(rows.length).toBeGreaterThan(30);
  for (const row of rows) {
    const shownBy = row.split('|').at(-2) ?? '';
    const names = [...shownBy.matchAll(/`([a-z/-]+)`/g)].map(([, name]) => name ?? '');
    const found = names.map(
      (name) => existsSync(join(root, `test/${name}.test.ts`)) || name === 'simulation',
    );
    expect(found, row).toContain(true);
    expect(found, row).not.toContain(false);
  }
});

test('every npm script that it names exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const named = [...readme.matchAll(/npm (?:run )?([a-z:-]+)/g)].map(([, name]) => name ?? '');
  const unknown = named.filter(
    (name) => !['ci', 'pack', 'install', 'root'].includes(name) && !(name in scripts),
  );
  expect(unknown).toEqual([]);
});
