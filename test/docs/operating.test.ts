/** docs/operating.md has the commands, metrics and alarms that there are. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { ALARM_KINDS } from '../../src/ops/alarms/alarm.ts';
import { Monitor } from '../../src/ops/monitor.ts';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import { present } from '../shared/present.ts';
import { ALONE } from '../ops/metrics/alone.ts';
import { log, newStore } from '../reconcile/mirror.ts';
import { codeIn, documentAt, ROOT, sectionOf, rowsOf } from './blocks.ts';

const text = documentAt('docs/operating.md');
const run = promisify(execFile);

/** What one command has compiled, the next one need not. */
const compiled = mkdtempSync(join(tmpdir(), 'stock-mirror-help-'));
afterAll(() => rmSync(compiled, { recursive: true, force: true }));

async function help(...args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [join(ROOT, 'src/cli.ts'), ...args, '--help'], {
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
  });
  return stdout;
}

/** The lines of one list of a help text, each by what it is about. */
function terms(help: string, heading: string): string[] {
  const [, list = ''] = help.split(`\n${heading}:\n`);
  return [...(list.split('\n\n')[0] ?? '').matchAll(/^ {2}(\S.*?)(?: {2,}|$)/gm)].map(([, term]) =>
    present(term),
  );
}

const commands = new Map(
  rowsOf(sectionOf(text, 'Commands')).map((row) => [
    present(codeIn(present(row['command']))[0]).replace('stock-mirror ', ''),
    codeIn(present(row['flags'])),
  ]),
);

test('every command is there, and no other', { timeout: 30_000 }, async () => {
  const verbs = terms(await help(), 'Commands').map((term) => present(term.split(' ')[0]));
  expect([...commands.keys()]).toEqual(verbs.filter((verb) => verb !== 'help'));
});

test.each([...commands])(
  '%s has the flags that its --help has',
  async (verb, flags) => {
    const shown = await help(verb);
    const takes = terms(shown, 'Arguments').map((name) => `<${name}>`);
    const options = terms(shown, 'Options').filter((term) => term !== '-h, --help');
    expect(flags).toEqual([...takes, ...options]);
  },
  30_000,
);

test('every metric is there, with its kind and labels, and no other', () => {
  const monitor = new Monitor();
  const store = newStore();
  const sampler = new StateSampler({ reader: store.reader, now: Date.now, log });
  monitor.watch({ store, sampler, operator: { blocked: null, readsUnderWay: 0 }, now: Date.now, log });
  monitor.showReplication(() => ALONE);
  const registered = monitor.registry.getMetricsAsArray().map((metric) => {
    const { name, type, labelNames } = metric as unknown as Registered;
    return { metric: name, kind: type, labels: [...labelNames] };
  });
  const shown = rowsOf(sectionOf(text, 'Metrics')).map((row) => ({
    metric: present(codeIn(present(row['metric']))[0]),
    kind: row['kind'],
    labels: codeIn(present(row['labels'])),
  }));
  const byName = (a: { metric: string }, b: { metric: string }): number => (a.metric < b.metric ? -1 : 1);
  expect(shown.toSorted(byName)).toEqual(registered.toSorted(byName));
});

/** A metric as its registry gives it: the package's types say less. */
interface Registered {
  readonly name: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

test('every alarm is there, and no other', () => {
  const alarms = rowsOf(sectionOf(text, 'Alarms')).map((row) => present(codeIn(present(row['alarm']))[0]));
  expect(alarms).toEqual([...ALARM_KINDS]);
});
