import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectDefaultMetrics } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { Monitor } from '../../../src/ops/monitor.ts';
import { StateSampler } from '../../../src/ops/state/state-sampler.ts';
import { log, newDatabases } from '../../reconcile/mirror.ts';
import { namesIn, seriesOf } from './exposition.ts';
import { lacking } from '../../shared/programs.ts';

const deploy = join(import.meta.dirname, '../../../deploy');
const rules = readFileSync(join(deploy, 'prometheus/alerts.yml'), 'utf8');
const dashboardText = readFileSync(join(deploy, 'grafana/dashboard.json'), 'utf8');

interface Panel {
  readonly title: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets: readonly { readonly expr: string }[];
}
const dashboard = JSON.parse(dashboardText) as { readonly uid: string; readonly panels: readonly Panel[] };

async function scrape(): Promise<ReadonlySet<string>> {
  const monitor = new Monitor();
  const databases = newDatabases();
  const sampler = new StateSampler({ reader: databases.mirror, now: Date.now, log });
  const operator = { blocked: null, verificationBound: null };
  monitor.watch({ mirror: databases.mirror, sampler, operator, hasStream: false, now: Date.now, log });
  collectDefaultMetrics({ register: monitor.registry });
  return seriesOf(await monitor.registry.metrics());
}

test('rules and dashboard name only metrics of /metrics', async () => {
  const scraped = await scrape();
  const inRules = namesIn(rules);
  const inPanels = dashboard.panels.flatMap(({ targets }) =>
    targets.flatMap(({ expr }) => [...namesIn(expr)]),
  );
  expect(inRules.size).toBeGreaterThan(10);
  expect(inPanels.length).toBeGreaterThan(20);
  expect([...inRules, ...inPanels].filter((name) => !scraped.has(name))).toEqual([]);
});

const lacks = lacking('promtool');
describe.skipIf(lacks)(`promtool${lacks}`, () => {
  const run = (...args: readonly string[]): string =>
    execFileSync('promtool', args, { cwd: join(deploy, 'prometheus'), encoding: 'utf8' });

  test('accepts the rules', () => {
    expect(run('check', 'rules', 'alerts.yml')).toContain('SUCCESS: ');
  });

  test('raises each alert only when due', () => {
    expect(run('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
  });
});
