import Database from 'better-sqlite3';
import { beforeEach, expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { blocksOf, documentAt, tablesOf, type Block, type Table } from './blocks.ts';
import { recipesMirror } from './recipes-mirror.ts';

const DOCUMENT = documentAt('docs/reading-the-mirror.md');
const LINES = DOCUMENT.split('\n');

interface Recipe extends Block {
  readonly below: string;
}

const recipes: readonly Recipe[] = blocksOf(DOCUMENT, 'sql').map((block) => {
  const begin = block.line + block.text.split('\n').length;
  const length = LINES.slice(begin).findIndex((line) => /^(```|#)/.test(line));
  return { ...block, below: LINES.slice(begin, length === -1 ? undefined : begin + length).join('\n') };
});

const titleOf = ({ heading, line }: Block): string => `${heading} (line ${line})`;

/** Values that the text below a query binds: "`:last` = 30". */
function bound({ text, below }: Recipe): Record<string, string | number> {
  const said = new Map(
    [...below.matchAll(/`:(\w+)` = (\w+)/g)].map(([, name, value]) => [name, present(value)]),
  );
  const named = new Set([...text.matchAll(/:(\w+)/g)].map(([, name]) => present(name)));
  return Object.fromEntries(
    [...named].map((name) => {
      const value = said.get(name);
      if (value === undefined) throw new Error(`the text below does not say what :${name} is`);
      return [name, /^\d+$/.test(value) ? Number(value) : value];
    }),
  );
}

function answerBelow({ below, line }: Recipe): Table {
  const [table, ...others] = tablesOf(below);
  if (table === undefined || others.length > 0) throw new Error(`the block of line ${line} needs one answer`);
  return table;
}

/** Only the form of instants and epochs is compared. */
type Value = string | number | null;
const formOf = (value: Value): string => {
  const text = value === null ? 'NULL' : String(value);
  if (/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text)) return 'an instant';
  return /^[0-9a-f]{16}$/.test(text) ? 'an epoch' : text;
};

const shown = ({ head, rows }: Table): Table => ({ head, rows: rows.map((row) => row.map(formOf)) });

let path: string;

beforeEach(() => {
  path = recipesMirror();
});

function ask<T>(question: (db: Database.Database) => T): T {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
  try {
    return question(db);
  } finally {
    db.close();
  }
}

test.each(recipes.map((recipe) => [titleOf(recipe), recipe] as const))('%s', (_title, recipe) => {
  const answer = ask((db) => {
    const statement = db.prepare<[object], Value[]>(recipe.text);
    const rows = statement.raw().all(bound(recipe));
    return { head: statement.columns().map(({ name }) => name), rows: rows.map((row) => row.map(formOf)) };
  });
  expect(answer).toEqual(shown(answerBelow(recipe)));
});

const isByNumber = ({ text }: Block): boolean => /seq > :last.* ORDER BY/.test(text);
/** The state has one row. */
const isOfState = ({ text }: Block): boolean => /FROM mirror_status$/.test(text.trim());
const indexed = recipes.filter((recipe) => !recipe.below.includes('reads every row') && !isOfState(recipe));

test.each(indexed.map((recipe) => [titleOf(recipe), recipe] as const))(
  '%s uses an index',
  (_title, recipe) => {
    const plan = ask((db) =>
      db.prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${recipe.text}`).all(bound(recipe)),
    ).map(({ detail }) => detail);
    const [first = ''] = plan.filter((step) => /^(SEARCH|SCAN) /.test(step));
    expect(first).toMatch(/^SEARCH (\w+ )?USING /);
    expect(
      plan.filter((step) => /^SCAN (c|v|p|stock_levels|variants|products|changes)\b/.test(step)),
    ).toEqual([]);
    if (isByNumber(recipe)) expect(plan.join('\n')).not.toContain('TEMP B-TREE');
  },
);
