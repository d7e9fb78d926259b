/** docs/reading-the-mirror.md: the data dictionary has what the views, the code and the API have. */
import { beforeEach, expect, test } from 'vitest';
import { SOURCES, VARIANT_KINDS } from '../../src/core/model.ts';
import { actorOf } from '../../src/sandbox/world/reasons.ts';
import { DRIFT_CAUSES, READ_REASONS } from '../../src/core/causes.ts';
import { MIRROR_STATES } from '../../src/mirror/file/state.ts';
import { rules } from '../contract/rules.ts';
import { startOps } from '../ops/harness.ts';
import { present } from '../shared/present.ts';
import { rows } from '../process/harness.ts';
import { newStore } from '../reconcile/mirror.ts';
import { codeIn, documentAt, headingsOf, sectionOf, tablesOf } from './blocks.ts';
import { recipesMirror } from './recipes-mirror.ts';

const DOCUMENT = documentAt('docs/reading-the-mirror.md');
const VIEWS = sectionOf(DOCUMENT, 'Views');

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
  readonly meaning: string;
  readonly example: string;
}

function columnsOf(view: string): Column[] {
  const [table] = tablesOf(sectionOf(VIEWS, view));
  expect(table?.head).toEqual(['column', 'type', 'null', 'meaning', 'example']);
  return present(table).rows.map(([name = '', type = '', isNullable = '', meaning = '', example = '']) => {
    expect(isNullable).toMatch(/^(yes|no)$/);
    const [column = ''] = codeIn(name);
    return {
      name: column,
      type,
      isNullable: isNullable === 'yes',
      meaning,
      example: codeIn(example)[0] ?? '',
    };
  });
}

const NAMES = headingsOf(VIEWS)
  .map(({ text }) => text)
  .filter((text) => text.startsWith('mirror_'));
/** Told once for all of them: tests of the views hold that they have the same columns. */
const FOR_PEOPLE = NAMES.map((name) => `${name}_readable`);

let path: string;
beforeEach(() => {
  path = recipesMirror();
});

test('every view of the contract is there', () => {
  const views = rows<{ name: string }>(
    path,
    `SELECT name FROM sqlite_master WHERE type = 'view' AND name GLOB 'mirror_*' ORDER BY name`,
  );
  expect([...NAMES, ...FOR_PEOPLE].toSorted()).toEqual(views.map(({ name }) => name));
  const [told] = codeIn(sectionOf(VIEWS, 'For people')).filter((code) => code.endsWith('_readable'));
  expect(FOR_PEOPLE).toContain(told);
});

test.each(NAMES)('%s: the columns, in their order', (view) => {
  const columns = rows<{ name: string }>(path, 'SELECT name FROM pragma_table_info(?)', view);
  expect(columnsOf(view).map(({ name }) => name)).toEqual(columns.map(({ name }) => name));
});

test.each(NAMES)('%s: types, nulls and examples are true', (view) => {
  const found = rows<Record<string, unknown>>(path, `SELECT * FROM ${view}`);
  expect(found.length).toBeGreaterThan(0);
  for (const { name, type, isNullable, meaning, example } of columnsOf(view)) {
    const values = found.map((row) => row[name]);
    const isInteger = type === 'INTEGER';
    expect(isInteger || type === 'TEXT', name).toBe(true);
    for (const value of values.filter((each) => each !== null))
      expect(typeof value, name).toBe(isInteger ? 'number' : 'string');
    if (!isNullable) expect(values, name).not.toContain(null);
    if (isInteger) expect(example, name).toMatch(/^-?\d+$/);
    expect(meaning.length, name).toBeGreaterThan(5);
    // An instant says its unit, a flag its values.
    if (/(_at|_of|_time)$/.test(name)) expect(meaning, name).toMatch(/in ms|ms,/);
    if (/(^suspect|_stock)$/.test(name)) expect(meaning, name).toMatch(/\b1\b.*\b0\b/);
  }
});

test('what may be null is what the API says may be', async () => {
  const ops = await startOps(newStore());
  const { components } = (await ops.ask('/openapi.json')).json as {
    components: { schemas: Record<string, { properties: Record<string, Schema> }> };
  };
  interface Schema {
    readonly type?: string | readonly string[];
    readonly anyOf?: readonly Schema[];
  }
  const isNullable = ({ type, anyOf = [] }: Schema): boolean =>
    [type].flat().includes('null') || anyOf.some(isNullable);
  const schemas = {
    mirror_stock: 'StockRow',
    mirror_variants: 'VariantRow',
    mirror_changes: 'Change',
    mirror_status: 'Status',
  };
  for (const [view, name] of Object.entries(schemas)) {
    const { properties } = present(components.schemas[name]);
    for (const column of columnsOf(view)) {
      expect(properties, `${view}.${column.name}`).toHaveProperty(column.name);
      expect(column.isNullable, `${view}.${column.name}`).toBe(isNullable(present(properties[column.name])));
    }
  }
});

test('the values of source, kind and state are those of the code', () => {
  const table = present(tablesOf(sectionOf(VIEWS, 'Values'))[0]);
  const values = (column: string) =>
    table.rows.filter(([name]) => name === `\`${column}\``).map(([, value = '']) => codeIn(value)[0]);
  expect(values('source')).toEqual(SOURCES);
  expect(values('kind')).toEqual(VARIANT_KINDS);
  expect(values('state')).toEqual(MIRROR_STATES);
  expect(table.rows).toHaveLength(SOURCES.length + VARIANT_KINDS.length + MIRROR_STATES.length);
});

test('the reasons of reads, and which of them are drift, are those of the code', () => {
  const table = present(tablesOf(sectionOf(VIEWS, 'Reasons of reads'))[0]);
  const reasons = table.rows.map(([reason = '', isDrift = '']) => ({
    reason: present(codeIn(reason)[0]),
    isDrift,
  }));
  const drift = reasons.filter(({ isDrift }) => isDrift === 'yes').map(({ reason }) => reason);
  expect(drift.toSorted()).toEqual(DRIFT_CAUSES.toSorted());
  expect(reasons.map(({ reason }) => reason).toSorted()).toEqual(READ_REASONS.toSorted());
});

test('the reasons of webhooks, and what comes with them, are those of the contract', () => {
  const table = present(tablesOf(sectionOf(VIEWS, 'Reasons of webhooks'))[0]);
  const documented = table.rows.map(([reason = '', , actor = '']) => [
    present(codeIn(reason)[0]),
    codeIn(actor)[0] ?? 'none',
  ]);
  const known = rules
    .filter(({ id }) => id.startsWith('events.reason.'))
    .map(({ id, text }) => [id.slice('events.reason.'.length), /^(order_id|user_id|none)\b/.exec(text)?.[1]]);
  expect(documented).toEqual(
    known.filter(([, text]) => ['order_id', 'user_id', 'none'].includes(present(text))),
  );
  for (const [reason, actor] of documented)
    expect(actorOf(present(reason)) ?? 'none').toBe(present(actor).replace('_id', ''));
});
