/** Each list of codes has one owner: the schema, the API's document, the metrics, the page and the documents have the same. */
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { CORRECTION_CAUSES, DRIFT_CAUSES, READ_REASONS } from '../../src/core/causes.ts';
import { REMOVABLES } from '../../src/core/apply/fact.ts';
import { SOURCES, VARIANT_KINDS } from '../../src/core/model.ts';
import { REASONS } from '../../src/core/reasons.ts';
import { RUN_KINDS, RUN_PRIORITY, RUN_STATES } from '../../src/core/runs.ts';
import { REFUSAL_REASONS } from '../../src/intake/observer.ts';
import { CAUSE_KINDS } from '../../src/ops/condition/cause.ts';
import { CONDITIONS } from '../../src/ops/condition/condition.ts';
import { createCounting } from '../../src/ops/metrics/counting.ts';
import { createStateGauges } from '../../src/ops/metrics/state-gauges.ts';
import { causeName, causeWords, reasonWords, rejectionWords, runName } from '../../src/ops/shared/words.ts';
import { MIRROR_STATES, STATE_CAUSES } from '../../src/mirror/file/state.ts';
import { startOps } from '../ops/harness.ts';
import { present } from '../shared/present.ts';
import { newStore } from '../reconcile/mirror.ts';
import { values, writerDb } from '../mirror/mirror-file.ts';
import { codeIn, documentAt, sectionOf, tablesOf } from './blocks.ts';

const sorted = (list: readonly string[]): string[] => list.toSorted();

const quoted = (text: string): string[] =>
  [...text.matchAll(/'([^']*)'/g)].map(([, value]) => present(value));

function allowed(table: string, column: string): string[] {
  const [sql = ''] = values<string>(writerDb(), 'SELECT sql FROM sqlite_master WHERE name = ?', table);
  return quoted(present(new RegExp(`CHECK\\(${column} IN \\(([^)]*)\\)`).exec(sql)?.[1]));
}

function made(view: string): string[] {
  const [sql = ''] = values<string>(writerDb(), 'SELECT sql FROM sqlite_master WHERE name = ?', view);
  return [...new Set([...sql.matchAll(/(?:THEN|ELSE) '([^']*)'/g)].map(([, value]) => present(value)))];
}

interface Schema {
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** The values that the API's document gives for a property of a schema, or for a parameter of the drift report. */
async function apiLists() {
  const ops = await startOps(newStore());
  const { components, paths } = (await ops.ask('/openapi.json')).json as {
    components: { schemas: Record<string, Schema> };
    paths: Record<string, { get?: { parameters?: { name: string; schema: Schema }[] } }>;
  };
  const ofDrift = paths['/api/drift']?.get?.parameters ?? [];
  return {
    documented: (schema: string, property: string) =>
      present(components.schemas[schema]?.properties?.[property]?.enum),
    driftReasons: present(ofDrift.find(({ name }) => name === 'reason')?.schema.enum),
  };
}

/** The values that a metric's label has from the start on. */
async function labels(metric: string, label: string): Promise<string[]> {
  const registry = new Registry();
  createCounting(registry);
  createStateGauges(registry, Date.now, () => ({
    sample: null,
    alarms: [],
    blocked: null,
    readsUnderWay: 0,
    lastDeliveryAtMs: null,
    condition: null,
  }));
  const found = present(registry.getSingleMetric(metric));
  return [...new Set((await found.get()).values.map(({ labels: each }) => String(each[label])))];
}

test('the reasons of re-read requests', () => {
  const reasons = Object.entries(REASONS);
  const names = Object.keys(REASONS);
  const { repairSeconds } = createCounting(new Registry());
  expect(sorted(Object.keys(repairSeconds))).toEqual(sorted([...names, 'gap']));
  for (const reason of names) expect(reasonWords(reason)).not.toBe(reason);
  const table = present(tablesOf(sectionOf(documentAt('docs/architecture.md'), 'Re-read requests'))[0]);
  const rows = table.rows.flatMap(([reason = '', , suspect, priority]) =>
    codeIn(reason).map((code) => [code, suspect === 'yes', Number(priority)]),
  );
  expect(sorted(rows.map(String))).toEqual(
    sorted(reasons.map(([reason, { isSuspect, priority }]) => String([reason, isSuspect, priority]))),
  );
});

test('the causes of drift, and the reasons of changes that reads make', async () => {
  expect(sorted((await apiLists()).driftReasons)).toEqual(sorted(DRIFT_CAUSES));
  expect(sorted(await labels('stock_mirror_drift_total', 'cause'))).toEqual(sorted(DRIFT_CAUSES));
  for (const cause of READ_REASONS) expect([causeName(cause), causeWords(cause)]).not.toContain(cause);
  expect(CORRECTION_CAUSES.filter((cause) => !READ_REASONS.includes(cause))).toEqual([]);
});

test('the kinds and states of runs', async () => {
  const { documented } = await apiLists();
  for (const list of [
    allowed('runs', 'kind'),
    documented('Run', 'kind'),
    await labels('stock_mirror_runs_total', 'kind'),
    Object.keys(RUN_PRIORITY),
  ]) {
    expect(sorted(list)).toEqual(sorted(RUN_KINDS));
  }
  for (const kind of RUN_KINDS) expect(runName(kind)).not.toBe(kind);
  expect(allowed('runs', 'state')).toEqual(RUN_STATES);
  expect(documented('Run', 'state')).toEqual(RUN_STATES);
  expect(['running', ...(await labels('stock_mirror_runs_total', 'result'))]).toEqual(RUN_STATES);
});

test('the states of the mirror', async () => {
  const { documented } = await apiLists();
  for (const list of [
    made('mirror_status'),
    documented('Status', 'state'),
    await labels('stock_mirror_state', 'state'),
  ]) {
    expect(sorted(list)).toEqual(sorted(MIRROR_STATES));
  }
  expect(made('state_cause')).toEqual(STATE_CAUSES);
  expect(documented('Status', 'condition')).toEqual(CONDITIONS);
  expect(sorted(await labels('stock_mirror_condition', 'condition'))).toEqual(sorted(CONDITIONS));
  expect(sorted(await labels('stock_mirror_cause', 'cause'))).toEqual(sorted(CAUSE_KINDS));
  const section = sectionOf(documentAt('docs/operating.md'), 'States');
  expect(
    [...section.matchAll(/^\| `(\w+)` +\| (?:host|operator|store|network)/gm)].map(([, kind]) => kind),
  ).toEqual(CAUSE_KINDS);
});

test('sources, kinds of variants, what is removed, and why a request is refused', async () => {
  const { documented } = await apiLists();
  expect(allowed('stock_levels', 'source')).toEqual(SOURCES);
  for (const schema of ['StockRow', 'Change']) expect(documented(schema, 'source')).toEqual(SOURCES);
  expect(allowed('variants', 'kind')).toEqual(VARIANT_KINDS);
  expect(documented('VariantRow', 'kind')).toEqual(VARIANT_KINDS);
  expect(await labels('stock_mirror_removed_total', 'what')).toEqual(REMOVABLES);
  expect(await labels('stock_mirror_rejected_total', 'reason')).toEqual(REFUSAL_REASONS);
  for (const reason of REFUSAL_REASONS) expect(rejectionWords(reason)).not.toBe(reason);
});
