/** How files hang together: no circle, not even of types, and no export that nobody imports. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { circles, modulesOf, readModules, unusedExports } from './modules.ts';

const modules = readModules(join(import.meta.dirname, '../..'), ['*.{js,ts}', '{src,test,scripts}/**/*.ts']);

/** What the package gives to other programs. */
const ENTRIES = ['src/index.ts', 'src/client.ts'];

test('no file imports itself by way of others', () => {
  expect(circles(modules)).toEqual([]);
});

test('what is exported is imported somewhere', () => {
  expect(unusedExports(modules, ENTRIES)).toEqual([]);
});

const of = (texts: Readonly<Record<string, string>>) => modulesOf(new Map(Object.entries(texts)));

test.each<[string, string]>([
  ['a value', `import { b } from './b.ts';`],
  ['a type', `import type { B } from './b.ts';`],
  ['a type in its place', `export type A = import('./b.ts').B;`],
  ['re-exported', `export { b } from './b.ts';`],
  ['everything', `export * from './b.ts';`],
  ['for its effect', `import './b.ts';`],
  ['when it is wanted', `const load = () => import('./b.ts');`],
])('a circle is found: %s', (_, code) => {
  const texts = {
    'src/a.ts': code,
    'src/b.ts': `import '../src/c.ts';`,
    'src/c.ts': `import type { A } from './a.ts';`,
  };
  expect(circles(of(texts))).toEqual(['src/a.ts → src/b.ts → src/c.ts → src/a.ts']);
});

test.each<[string, string, string[]]>([
  ['nothing', '', ['a.ts: one', 'a.ts: Two', 'a.ts: three']],
  ['one of them', `import { one } from './a.ts';`, ['a.ts: Two', 'a.ts: three']],
  ['under another name', `import { one as uno, type Two as Due } from './a.ts';`, ['a.ts: three']],
  ['what is loaded later', `const { three } = await import('./a.ts');`, ['a.ts: one', 'a.ts: Two']],
  ['everything', `import * as a from './a.ts';`, []],
])('an export that nobody imports is found: %s', (_, code, found) => {
  const exporting = `export const one = 1;\nexport interface Two {}\nconst three = 3;\nexport { three };\nexport default one;`;
  expect(unusedExports(of({ 'a.ts': exporting, 'b.ts': code }), []).toSorted()).toEqual(found.toSorted());
});
