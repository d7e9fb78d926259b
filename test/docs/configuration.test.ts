/** docs/configuration.md has the variables that there are, and refuses what the program refuses. */
import { expect, test } from 'vitest';
import { ConfigError, loadConfig, SETTABLE_NAMES } from '../../src/config/config.ts';
import { VARIABLES, VARIABLE_NAMES, type Variable } from '../../src/config/variables.ts';
import { present } from '../shared/present.ts';
import { codeIn, documentAt, sectionOf, rowsOf } from './blocks.ts';

const text = documentAt('docs/configuration.md');
const rows = rowsOf(sectionOf(text, 'Variables'));
const nameOf = (row: Readonly<Record<string, string>>): string =>
  present(codeIn(present(row['variable']))[0]);

test('the table has every variable, its default, and whether it may come from a file', () => {
  const expected = VARIABLE_NAMES.map((name) => {
    const variable: Variable = VARIABLES[name];
    const unset = variable.required === true ? 'required' : 'none';
    return {
      name,
      default: variable.default === undefined ? unset : `\`${variable.default}\``,
      file: variable.fromFile === true ? 'yes' : 'no',
    };
  });
  const shown = rows.map((row) => ({
    name: nameOf(row),
    default: row['default'],
    file: row['from a file'],
  }));
  const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
  expect(shown.toSorted(byName)).toEqual(expected.toSorted(byName));
});

test('.env.example has the same variables and defaults', () => {
  const inExample = new Map<string, string>();
  for (const [, name = '', value = ''] of documentAt('.env.example').matchAll(/^(?:# )?([A-Z_]+)=(.*)$/gm)) {
    inExample.set(name, value);
  }
  const inTable = rows.flatMap((row) =>
    row['from a file'] === 'yes' ? [nameOf(row), `${nameOf(row)}_FILE`] : [nameOf(row)],
  );
  expect([...inExample.keys()].toSorted()).toEqual(inTable.toSorted());
  for (const row of rows) {
    const [value] = codeIn(present(row['default']));
    if (value !== undefined) expect(inExample.get(nameOf(row)), nameOf(row)).toBe(value);
  }
});

const ENOUGH = {
  SERVICE_BASE_URL: 'https://store.example',
  SERVICE_CLIENT_ID: 'id',
  SERVICE_CLIENT_SECRET: 'secret',
  SERVICE_WEBHOOK_SECRET: 'secret',
};

function refusedNames(env: Readonly<Record<string, string>>): string[] {
  try {
    loadConfig({ env, cwd: '/nowhere', readFile: notThere, pid: 1 });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ name }) => name);
    throw error;
  }
}

function notThere(): string {
  throw Object.assign(new Error('not there'), { code: 'ENOENT' });
}

test('what is not refused needs the required variables only', () => {
  expect(refusedNames(ENOUGH)).toEqual([]);
});

const refused = rowsOf(sectionOf(text, 'What is refused')).map((row) =>
  present(codeIn(present(row['example']))[0]),
);

test.each(refused)('%s is refused', (example) => {
  const [name = '', ...value] = example.split('=');
  const names = refusedNames({ ...ENOUGH, [name]: value.join('=') });
  // What stands on its own is named by its own name; a listener that others reach asks for the token.
  expect(names).toEqual([name === 'OPS_HOST' ? 'OPS_TOKEN' : name]);
});

test('the prefixes under which a misspelt name is warned of are those of the program', () => {
  const prefixes = [...text.matchAll(/`([A-Z]+_)`/g)].map(([, prefix]) => present(prefix));
  expect(prefixes.length).toBeGreaterThan(4);
  for (const prefix of prefixes) {
    const misspelt = `${SETTABLE_NAMES.find((name) => name.startsWith(prefix))}X`;
    const env = { ...ENOUGH, [`${prefix}OF_ANOTHER_PROGRAM`]: 'x', [misspelt]: 'x' };
    const { warnings } = loadConfig({ env, cwd: '/nowhere', readFile: notThere });
    expect(
      warnings.map(({ name }) => name),
      prefix,
    ).toEqual([misspelt]);
  }
  const documented = rows.map((row) => nameOf(row)).filter((name) => name.includes('_'));
  expect(documented.filter((name) => !SETTABLE_NAMES.includes(name))).toEqual([]);
});
