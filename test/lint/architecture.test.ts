/** The architecture's rules bite: each row is a line of code, and the file it pretends to stand in. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ESLint } from 'eslint';
import ts from 'typescript-eslint';
import { describe, expect, it } from 'vitest';
import { AREAS, areaOf } from '../../scripts/eslint/areas.ts';
import { architecture } from '../../scripts/eslint/architecture.ts';

// Only the project's own rules: those of typescript-eslint need a file that exists, to know its types.
const eslint = new ESLint({
  overrideConfigFile: true,
  overrideConfig: [{ files: ['**/*.ts'], languageOptions: { parser: ts.parser } }, ...architecture],
});

async function lint(path: string, code: string): Promise<string[]> {
  const [result] = await eslint.lintText(`${code}\n`, { filePath: path });
  return (result?.messages ?? []).map(({ ruleId, message }) => ruleId ?? message);
}

const DIRECTION = 'stock-mirror/dependency-direction';

describe('dependency direction', () => {
  it.each<[path: string, code: string]>([
    // core imports core only.
    ['src/core/gap.ts', `import { sign } from '../store-api/signature.ts';`],
    ['src/core/gap.ts', `import { log } from '../platform/log.ts';`],
    ['src/core/gap.ts', `import { createHash } from 'node:crypto';`],
    ['src/core/gap.ts', `import { EventEmitter } from 'events';`],
    ['src/core/gap.ts', `import { z } from 'zod';`],
    ['src/core/gap.ts', `import manifest from '../../package.json' with { type: 'json' };`],
    ['src/core/deep/gap.ts', `import { sign } from '../../store-api/signature.ts';`],
    ['src/core/entry.ts', `import { merge } from './merge/change.ts';`],
    ['src/core/merge/gap.ts', `import { apply } from '../apply/apply-entry.ts';`],
    ['src/traffic/rate.ts', `import { LIMITS } from '../core/limits.ts';`],
    ['src/app/steady-clock.ts', `import { createClock } from './clock.ts';`],
    // Each layer looks down only.
    ['src/store-api/client.ts', `import { open } from '../mirror/open.ts';`],
    ['src/store-api/client.ts', `import { startSandbox } from '../sandbox/sandbox.ts';`],
    ['src/mirror/open.ts', `import { queue } from '../reconcile/queue.ts';`],
    ['src/mirror/open.ts', `import { receive } from '../intake/receive.ts';`],
    ['src/event-log/event-log.ts', `import { openStore } from '../mirror/open-store.ts';`],
    ['src/sqlite/open.ts', `import { eventLogPath } from '../event-log/open-log.ts';`],
    ['src/platform/log.ts', `import { open } from '../sqlite/open.ts';`],
    ['src/mirror/queries/status.ts', `import { apply } from '../writer/projection.ts';`],
    ['src/mirror/queries/status.ts', `import { glance } from './page/glance.ts';`],
    ['src/mirror/writer/projection.ts', `import { openStore } from '../open-store.ts';`],
    ['src/intake/receive.ts', `import { openStore } from '../mirror/open-store.ts';`],
    ['src/ops/shared/api-error.ts', `import { createPage } from '../page/page.ts';`],
    ['src/store-api/transport/http.ts', `import { createClient } from '../client.ts';`],
    ['src/intake/receive.ts', `import { queue } from '../reconcile/queue.ts';`],
    ['src/intake/receive.ts', `import { page } from '../ops/page.ts';`],
    ['src/reconcile/queue.ts', `import { receive } from '../intake/receive.ts';`],
    ['src/reconcile/queue.ts', `import { page } from '../ops/page.ts';`],
    ['src/ops/page.ts', `import { queue } from '../reconcile/queue.ts';`],
    ['src/ops/page.ts', `import { receive } from '../intake/receive.ts';`],
    // The sandbox shares the shapes with the mirror and nothing else.
    ['src/sandbox/sandbox.ts', `import { sign } from '../store-api/signature.ts';`],
    ['src/sandbox/sandbox.ts', `import { applyEntry } from '../core/apply/apply-entry.ts';`],
    ['src/sandbox/world/truth.ts', `import { network } from '../network/network.ts';`],
    ['src/sandbox/api/api.ts', `import { frame } from '../../web/frame.ts';`],
    ['src/sandbox/deep/sandbox.ts', `import { open } from '../../mirror/open.ts';`],
    // The configuration is read by entries, and handed inward.
    ['src/store-api/client.ts', `import { loadConfig } from '../config/config.ts';`],
    ['src/ops/page.ts', `import { VARIABLES } from '../config/variables.ts';`],
    ['src/config/config.ts', `import { open } from '../mirror/open.ts';`],
    ['src/config/raw.ts', `import { log } from '../platform/log.ts';`],
    // Nobody imports an entry.
    ['src/cli/serve.ts', `import '../main.ts';`],
    ['src/cli/serve.ts', `import '../cli.ts';`],
    ['src/cli/serve.ts', `import '../bin.ts';`],
    ['src/main.ts', `import './cli.ts';`],
    ['src/main.ts', `import './main.ts';`],
    ['src/cli.ts', `import './main.ts';`],
    ['src/index.ts', `import './main.ts';`],
    ['src/index.ts', `import { loadConfig } from './config/config.ts';`],
    ['src/ops/page.ts', `import { compose } from '../app/compose.ts';`],
    ['src/ops/page.ts', `import { serve } from '../app/serve.ts';`],
    ['src/intake/receive.ts', `import { createClock } from '../app/clock.ts';`],
    ['src/app/clock.ts', `import { log } from '../platform/log.ts';`],
    ['src/app/serve.ts', `import { run } from '../cli/run.ts';`],
    // The partners' client tries again by itself: beneath the mirror's own pacing it has no place.
    ['src/client.ts', `import { loadConfig } from './config/config.ts';`],
    ['src/client.ts', `import { open } from './mirror/open.ts';`],
    ['src/app/compose.ts', `import { createClient } from '../client.ts';`],
    ['src/reconcile/reader.ts', `import { createClient } from '../client.ts';`],
    // What loads on old Nodes stays small.
    ['src/bin.ts', `import './cli.ts';`],
    ['src/bin.ts', `import './platform/node-version.ts';`],
    ['src/bin.ts', `import pc from 'picocolors';`],
    ['src/bin.ts', `await import('./main.ts');`],
    ['src/platform/node-version.ts', `import { inspect } from 'node:util';`],
    ['src/platform/node-requirement.ts', `import { log } from './log.ts';`],
    // Every kind of import counts.
    ['src/core/gap.ts', `export { sign } from '../store-api/signature.ts';`],
    ['src/core/gap.ts', `export * from '../store-api/signature.ts';`],
    ['src/core/gap.ts', `import type { Body } from '../store-api/contract/schemas.ts';`],
    ['src/core/gap.ts', `export type { Body } from '../store-api/contract/schemas.ts';`],
    ['src/core/gap.ts', `export type Body = import('../store-api/contract/schemas.ts').Body;`],
    ['src/core/gap.ts', `export const load = () => import('../store-api/contract/schemas.ts');`],
    ['src/core/gap.ts', 'export const load = () => import(`../store-api/contract/schemas.ts`);'],
    ['src/core/gap.ts', `import '../store-api/contract/schemas.ts';`],
    // Outside src/, into no area, and to who knows where.
    ['src/store-api/client.ts', `import { stub } from '../../test/store-api/stub.ts';`],
    ['src/main.ts', `import build from '../scripts/build.ts';`],
    ['src/main.ts', `import { trim } from './utils/trim.ts';`],
    ['src/utils/trim.ts', `export const trim = 1;`],
    ['src/utils.ts', `export const trim = 1;`],
    ['src/main.ts', `export const load = (name: string) => import(name);`],
  ])('%s: %s', async (path, code) => {
    expect(await lint(path, code)).toEqual([DIRECTION]);
  });
});

describe('a pure core', () => {
  it.each<[code: string, rule: string]>([
    ['export const a = Date.now();', 'no-restricted-properties'],
    ['export const { now } = Date;', 'no-restricted-properties'],
    ['export const a = new Date();', 'no-restricted-syntax'],
    ['export const a = Date();', 'no-restricted-syntax'],
    ['export const a = Math.random();', 'no-restricted-properties'],
    [`export const a = Math['random']();`, 'no-restricted-properties'],
    ['export const a = performance.now();', 'no-restricted-globals'],
    ['export const a = process.version;', 'no-restricted-globals'],
    ['setTimeout(() => 1, 1);', 'no-restricted-globals'],
    ['setInterval(() => 1, 1);', 'no-restricted-globals'],
    ['queueMicrotask(() => 1);', 'no-restricted-globals'],
    ['export const a = crypto.randomUUID();', 'no-restricted-globals'],
    [`export const a = fetch('http://h');`, 'no-restricted-globals'],
    ['export const a = globalThis;', 'no-restricted-globals'],
    [`console.log('x');`, 'no-restricted-globals'],
  ])('%s', async (code, rule) => {
    for (const path of [
      'src/core/gap.ts',
      'src/core/merge/gap.ts',
      'src/traffic/rate.ts',
      'src/app/steady-clock.ts',
    ])
      expect(await lint(path, code)).toContain(rule);
    // Elsewhere it is nobody's business.
    expect(await lint('src/mirror/gap.ts', code)).toEqual([]);
  });
});

describe('the environment', () => {
  it.each<[code: string, rule: string]>([
    ['export const a = process.env.PORT;', 'no-restricted-properties'],
    [`export const a = process['env'];`, 'no-restricted-properties'],
    ['export const { env } = process;', 'no-restricted-properties'],
    [`import { env } from 'node:process';\nexport const a = env;`, 'no-restricted-imports'],
    [`import p from 'process';\nexport const a = p.env;`, 'no-restricted-imports'],
  ])('is read by config.ts alone: %s', async (code, rule) => {
    expect(await lint('src/mirror/open.ts', code)).toEqual([rule]);
    expect(await lint('src/main.ts', code)).toEqual([rule]);
    expect(await lint('src/core/gap.ts', code)).toContain(rule);
  });

  it('is read by config.ts', async () => {
    expect(await lint('src/config/config.ts', 'export const a = process.env;')).toEqual([]);
  });
});

describe('a bare true or false', () => {
  it.each<string>([
    'export function open(path: string, force: boolean) { return force ? path : null; }',
    'export const open = (force: boolean) => force;',
    'export class File { open(force: boolean) { return force; } }',
    'export interface File { open(force: boolean): void }',
    'export type Open = (force: boolean) => void;',
    'export function open(path: string, force = false) { return force ? path : null; }',
  ])('is no parameter: %s', async (code) => {
    expect(await lint('src/mirror/open.ts', code)).toEqual(['no-restricted-syntax']);
    expect(await lint('src/core/gap.ts', code)).toEqual(['no-restricted-syntax']);
    expect(await lint('test/mirror/open.test.ts', code)).toEqual([]);
  });
});

describe('clean code passes', () => {
  it.each<[path: string, code: string]>([
    [
      'src/core/merge/gap.ts',
      `import { limit } from '../limits.ts';\nexport const at = new Date(limit).getTime();`,
    ],
    [
      'src/core/deep/gap.ts',
      `import { limit } from '../limits.ts';\nexport const at = Math.max(limit, Date.UTC(2020));`,
    ],
    [
      'src/store-api/client.ts',
      `import { z } from 'zod';\nexport * from '../traffic/backoff.ts';\nexport default z;`,
    ],
    [
      'src/store-api/client.ts',
      `import manifest from '../../package.json' with { type: 'json' };\nexport default manifest;`,
    ],
    [
      'src/mirror/open.ts',
      `import type { Body } from '../store-api/contract/schemas.ts';\nexport type B = Body;`,
    ],
    ['src/mirror/open.ts', 'export const open = ({ force }: { readonly force: boolean }) => force;'],
    ['src/intake/receive.ts', `import { writer } from '../mirror/store.ts';\nexport const a = writer;`],
    ['src/reconcile/queue.ts', `import { client } from '../store-api/client.ts';\nexport const a = client;`],
    ['src/ops/page.ts', `import { readers } from '../mirror/store.ts';\nexport const a = readers;`],
    ['src/ops/page.ts', `import { log } from '../platform/log.ts';\nexport const a = log;`],
    ['src/ops/page.ts', `import { Secret } from '../platform/secret.ts';\nexport const a = Secret;`],
    [
      'src/sandbox/world/answers.ts',
      `import { idSchema } from '../../store-api/contract/schemas.ts';\nexport const a = idSchema;`,
    ],
    ['src/sandbox/ui/page.ts', `import { frame } from '../../web/frame.ts';\nexport const a = frame;`],
    ['src/config/config.ts', `import { raw } from './raw.ts';\nexport const a = raw;`],
    ['src/config/raw.ts', `import { Secret } from '../platform/secret.ts';\nexport const a = Secret;`],
    ['src/app/serve.ts', `import { queue } from '../reconcile/queue.ts';\nexport const a = queue;`],
    ['src/app/serve.ts', `import { createClock } from './clock.ts';\nexport const a = createClock;`],
    ['src/cli/serve.ts', `import { serve } from '../app/serve.ts';\nexport const a = serve;`],
    ['src/cli/serve.ts', `import { run } from './run.ts';\nexport const a = run;`],
    [
      'src/cli/sandbox.ts',
      `import { startSandbox } from '../sandbox/sandbox.ts';\nexport const a = startSandbox;`,
    ],
    [
      'src/main.ts',
      `import './platform/node-version.ts';\nimport { loadConfig } from './config/config.ts';\nloadConfig();`,
    ],
    ['src/cli.ts', `import { run } from './cli/run.ts';\nrun();`],
    ['src/main.ts', `import { EXIT } from './cli/shared/exit-codes.ts';\nprocess.exitCode = EXIT.done;`],
    ['src/index.ts', `export { createClient } from './store-api/client.ts';`],
    [
      'src/bin.ts',
      `import { need } from './platform/node-requirement.ts';\nif (need) await import('./cli.ts');`,
    ],
    ['test/core/gap.test.ts', `import '../../src/main.ts';\nexport const a = [Date.now(), process.env];`],
    ['scripts/bench.ts', `import '../src/sandbox/sandbox.ts';\nexport const a = process.env;`],
  ])('%s: %s', async (path, code) => {
    expect(await lint(path, code)).toEqual([]);
  });
});

/** The areas that an area may import, its own aside. */
function below(name: string): string[] {
  const { imports = [], files = [] } = AREAS[name] ?? {};
  return [...imports, ...files.map(areaOf)].filter((each) => each !== name);
}

describe('the table of areas', () => {
  it('has no circle', () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const visit = (name: string, above: readonly string[]): void => {
      if (above.includes(name)) circles.push([...above.slice(above.indexOf(name)), name].join(' → '));
      if (above.includes(name) || done.has(name)) return;
      for (const each of below(name)) visit(each, [...above, name]);
      done.add(name);
    };
    for (const name of Object.keys(AREAS)) visit(name, []);
    expect(circles).toEqual([]);
  });

  it('names only what is there', () => {
    const named = Object.keys(AREAS).flatMap((name) => [name, ...below(name), ...(AREAS[name]?.files ?? [])]);
    const source = join(import.meta.dirname, '../../src');
    expect([...new Set(named)].filter((name) => !existsSync(join(source, name)))).toEqual([]);
  });
});

it('is what `npm run lint` uses', async () => {
  const used = new ESLint();
  const config = (await used.calculateConfigForFile('src/core/gap.ts')) as {
    rules: Record<string, [number]>;
  };
  for (const rule of [
    DIRECTION,
    'no-restricted-globals',
    'no-restricted-imports',
    'no-restricted-properties',
    'no-restricted-syntax',
    '@typescript-eslint/max-params',
    '@typescript-eslint/no-explicit-any',
    '@typescript-eslint/no-non-null-assertion',
    '@typescript-eslint/no-floating-promises',
    '@typescript-eslint/no-misused-promises',
    '@typescript-eslint/await-thenable',
    '@typescript-eslint/switch-exhaustiveness-check',
    '@typescript-eslint/consistent-type-imports',
    'eqeqeq',
    'no-console',
  ]) {
    expect.soft(config.rules[rule]?.[0], rule).toBe(2);
  }
});
