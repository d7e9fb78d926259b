/** The files of .github are YAML, and name scripts and paths that there are. Whether a runner takes them is not shown here. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { present } from '../shared/present.ts';
import { documentAt, ROOT } from './blocks.ts';

const FOLDER = join(ROOT, '.github');

const yamlFiles = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.yml'))
  .toSorted();

test.each(yamlFiles)('%s is YAML', (name) => {
  expect(parse(documentAt(join('.github', name)), { strict: true })).toBeTypeOf('object');
});

interface Job {
  readonly 'runs-on': string;
  readonly 'timeout-minutes': number;
  readonly container?: string;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly unknown[]>> };
  readonly steps: readonly {
    readonly uses?: string;
    readonly run?: string;
    readonly with?: Readonly<Record<string, string>>;
  }[];
}

describe('ci.yml', () => {
  const text = documentAt('.github/workflows/ci.yml');
  const { jobs } = parse(text) as { jobs: Readonly<Record<string, Job>> };
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));

  test('every npm script that it names exists', () => {
    const { scripts } = JSON.parse(documentAt('package.json')) as {
      scripts: Readonly<Record<string, string>>;
    };
    const named = commands.flatMap((command) =>
      [...command.matchAll(/npm (?:run )?([a-z:-]+)/g)].map(([, name]) => present(name)),
    );
    expect(named).toEqual(expect.arrayContaining(['ci', 'test', 'demo']));
    expect(named.filter((name) => name !== 'ci' && !(name in scripts))).toEqual([]);
  });

  test('every path that it names exists', () => {
    const files = Object.values(jobs).flatMap(({ steps }) =>
      steps.flatMap((step) => step.with?.['node-version-file'] ?? []),
    );
    const inCommands = commands.flatMap((command) =>
      command
        .split(/\s+/)
        .filter((word) => /^(\.ci|deploy|examples|scripts|src|test)\//.test(word))
        .map((word) => word.replace(/["']/g, '')),
    );
    expect(inCommands).toContain('.ci/run');
    expect(inCommands).toContain('deploy/container/Dockerfile');
    expect([...files, ...inCommands].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test('every action has a version, every job an end', () => {
    for (const job of Object.values(jobs)) {
      expect(job['timeout-minutes']).toBeGreaterThan(0);
      for (const { uses } of job.steps) if (uses !== undefined) expect(uses).toMatch(/@v\d+$/);
    }
  });

  test('the smaller set runs on every Node that is supported', () => {
    const matrices = [jobs['systems'], jobs['alpine']].map((job) => job?.strategy?.matrix['node']);
    expect(matrices).toEqual([
      [22, 24, 26],
      [22, 24, 26],
    ]);
  });

  test('it says that it has not run yet, and so does docs/deploying.md', () => {
    expect(text).toContain('Not run yet');
    expect(documentAt('docs/deploying.md')).toContain('CI has jobs for them, not run yet');
  });
});

test('dependabot looks at folders that there are', () => {
  const { updates } = parse(documentAt('.github/dependabot.yml')) as {
    updates: readonly { directory: string; groups: object; 'package-ecosystem': string }[];
  };
  expect(updates.map((update) => update['package-ecosystem'])).toEqual(['npm', 'github-actions', 'docker']);
  for (const { directory, groups } of updates) {
    expect(existsSync(join(ROOT, directory)), directory).toBe(true);
    expect(Object.keys(groups)).not.toEqual([]);
  }
});
