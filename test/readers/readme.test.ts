/** README shows and names the examples as they are. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FOLDER } from './reader.ts';

const readme = readFileSync(join(FOLDER, '../../README.md'), 'utf8');

test('the example shown whole is the file', () => {
  const shown = [...readme.matchAll(/^```python\n(.*?)^```$/gms)].map(([, text]) => text);
  expect(shown).toContain(readFileSync(join(FOLDER, 'poll-stock.py'), 'utf8'));
});

test('every example is named, and every one named is there', () => {
  const named = [...readme.matchAll(/`((?:poll-stock|follow-changes)\.[a-z]+)`/g)].map(([, name]) => name);
  expect([...new Set(named)].sort()).toEqual(readdirSync(FOLDER).sort());
});
