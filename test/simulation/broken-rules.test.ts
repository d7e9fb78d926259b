import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { broken, BROKEN_RULES } from '../../scripts/broken-rules/rules.ts';

test.each(BROKEN_RULES)('can still break the program: $name', ({ changes }) => {
  for (const change of changes) {
    const text = readFileSync(new URL(`../../${change.file}`, import.meta.url), 'utf8');
    expect(broken(text, change)).not.toBe(text);
  }
});
