/** The document shows and names the examples as they are. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { blocksOf, documentAt, ROOT } from '../docs/blocks.ts';
import { linksOf } from '../docs/markdown.ts';
import { present } from '../shared/present.ts';
import { FOLDER } from './reader.ts';

const DOCUMENT = documentAt('docs/reading-the-mirror.md');

test('the example shown whole is the file', () => {
  const [shown, ...others] = blocksOf(DOCUMENT, 'python');
  expect(others).toEqual([]);
  expect(present(shown).text).toBe(readFileSync(join(FOLDER, 'poll-stock.py'), 'utf8'));
});

test('every example is named and linked, and every one named is there', () => {
  const named = [...DOCUMENT.matchAll(/`((?:poll-stock|follow-changes)\.[a-z]+)`/g)].map(([, name]) => name);
  expect([...new Set(named)].sort()).toEqual(readdirSync(FOLDER).sort());
  const linked = linksOf(DOCUMENT).filter((target) => target.startsWith('../examples/'));
  expect(linked.map((target) => target.split('/').at(-1)).sort()).toEqual(readdirSync(FOLDER).sort());
  for (const target of linked) expect(existsSync(join(ROOT, 'docs', target)), target).toBe(true);
});
