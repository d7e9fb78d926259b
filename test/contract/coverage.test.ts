/** Each rule of the service's document has a case, each case names a rule, and every case is run. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ContractCase } from './contract.ts';
import { rules } from './rules.ts';

const folder = join(import.meta.dirname, 'cases');
const modules = readdirSync(folder).map((file) => file.replace(/\.ts$/, ''));
const loaded = await Promise.all(
  modules.map(async (name) => (await import(`./cases/${name}.ts`)) as { cases: ContractCase[] }),
);
const cases = loaded.flatMap((module) => module.cases);
const known = new Set<string>(rules.map(({ id }) => id));

const coveredBy = (side?: ContractCase['side']): Set<string> =>
  new Set(cases.filter((each) => side === undefined || each.side === side).flatMap(({ ids }) => ids));

test.each(modules)('the cases of %s are run', (name) => {
  const path = join(import.meta.dirname, `${name}.test.ts`);
  expect(existsSync(path)).toBe(true);
  // Nothing else is in such a file: no case can be skipped there.
  expect(readFileSync(path, 'utf8')).toBe(
    `import { cases } from './cases/${name}.ts';\nimport { runCases } from './contract.ts';\n\nrunCases(cases);\n`,
  );
});

test('every rule is told once', () => {
  expect(known.size).toBe(rules.length);
});

test('every case names rules of the document, and no two cases are one', () => {
  for (const { ids } of cases) {
    expect(ids.length).toBeGreaterThan(0);
    expect(ids.filter((id) => !known.has(id))).toEqual([]);
  }
  const titles = cases.map(({ ids, name, side }) => `${ids.join()} ${name} ${side}`);
  expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([]);
});

test('every rule has a case', async ({ annotate }) => {
  const covered = coveredBy();
  expect(rules.filter(({ id }) => !covered.has(id)).map(({ id }) => id)).toEqual([]);
  const report =
    `contract: ${covered.size} of ${rules.length} rules of the service's document covered by ${cases.length} cases, ` +
    `${coveredBy('raw').size} over plain HTTP, ${coveredBy('client').size} through the client`;
  await annotate(report);
  process.stdout.write(`${report}\n`);
});
