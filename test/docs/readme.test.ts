/** What README refers to is there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

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

test('it is no longer than two screens', () => {
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(9_000);
});

test('its picture shows the demo of today, to its end', () => {
  const picture = readFileSync(join(root, 'docs/demo.svg'), 'utf8');
  const words = picture.replaceAll(/<[^>]*>/g, '').replaceAll('&amp;', '&');
  expect(words).toContain('VERDICT: equal.');
  // Its fixed lines, word for word as the program has them.
  const source = ['stage', 'story', 'verdict']
    .map((name) => readFileSync(join(root, `src/cli/demo/${name}.ts`), 'utf8'))
    .join('\n');
  const said = [...words.matchAll(/^ *[\d.]+ s {2}([^\d…:"]{12,})$/gm)].map(([, text]) => text ?? '');
  expect(said.length).toBeGreaterThan(2);
  for (const line of said) expect(source).toContain(line.trimEnd());
});
