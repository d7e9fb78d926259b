/** CONTRIBUTING, CHANGELOG and SECURITY keep their form; that what they name is there, links.test.ts shows. */
import { expect, test } from 'vitest';
import { MUTANTS } from '../../scripts/mutants/list.ts';
import { present } from '../shared/present.ts';
import { documentAt, sectionOf } from './blocks.ts';

const { version } = JSON.parse(documentAt('package.json')) as { version: string };

test('CONTRIBUTING is short', () => {
  expect(documentAt('CONTRIBUTING.md').split('\n').length).toBeLessThanOrEqual(60);
});

test('the mutants that are named as examples exist', () => {
  const named = [...documentAt('docs/contributing.md').matchAll(/--only ([a-z][a-z0-9-]+)/g)].map(([, id]) =>
    present(id),
  );
  expect(named).not.toEqual([]);
  const ids = MUTANTS.map(({ id }) => id);
  expect(named.filter((id) => !ids.includes(id))).toEqual([]);
});

test('CHANGELOG has what changes next, and this version', () => {
  const text = documentAt('CHANGELOG.md');
  const headings = [...text.matchAll(/^## \[(.+?)\](?: - (\S+))?$/gm)].map(([, name]) => name);
  expect(headings[0]).toBe('Unreleased');
  expect(headings).toContain(version);
  const groups = [...text.matchAll(/^### (.+)$/gm)].map(([, group]) => present(group));
  const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
  expect(groups.filter((group) => !known.includes(group))).toEqual([]);
  for (const [, name] of text.matchAll(/^## \[(.+?)\]/gm))
    expect(text).toContain(`\n[${present(name)}]: https://`);
});

test('SECURITY says where to report, and what is supported', () => {
  const text = documentAt('SECURITY.md');
  expect(sectionOf(text, 'Reporting')).toContain(
    'https://github.com/stock-mirror/stock-mirror/security/advisories/new',
  );
  expect(sectionOf(text, 'Supported versions')).toContain(present(version.split('.')[0]));
});

test('docs/performance.md has the place of the table before and after', () => {
  const footprint = sectionOf(documentAt('docs/performance.md'), 'Footprint');
  expect(footprint).toMatch(/<!-- footprint: begin[^>]*-->/);
  expect(footprint).toContain('<!-- footprint: end -->');
});
