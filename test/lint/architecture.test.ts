/** The architecture's rules bite: each row is a line of code, and the file it pretends to stand in. */
import { ESLint } from 'eslint';
import ts from 'typescript-eslint';
import { describe, expect, it } from 'vitest';
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
    ['src/core/gap.ts', `import { sign } from '../service/signature.ts';`],
    ['src/core/gap.ts', `import { log } from '../log.ts';`],
    ['src/core/gap.ts', `import { createHash } from 'node:crypto';`],
    ['src/core/gap.ts', `import { EventEmitter } from 'events';`],
    ['src/core/gap.ts', `import { z } from 'zod';`],
    ['src/core/gap.ts', `import manifest from '../../package.json' with { type: 'json' };`],
    ['src/core/deep/gap.ts', `import { sign } from '../../service/signature.ts';`],
    // Each layer looks down only.
    ['src/service/client.ts', `import { open } from '../store/open.ts';`],
    ['src/service/client.ts', `import { startSandbox } from '../sandbox/sandbox.ts';`],
    ['src/store/open.ts', `import { queue } from '../reconcile/queue.ts';`],
    ['src/store/open.ts', `import { receive } from '../intake/receive.ts';`],
    ['src/intake/receive.ts', `import { queue } from '../reconcile/queue.ts';`],
    ['src/intake/receive.ts', `import { page } from '../ops/page.ts';`],
    ['src/reconcile/queue.ts', `import { receive } from '../intake/receive.ts';`],
    ['src/reconcile/queue.ts', `import { page } from '../ops/page.ts';`],
    ['src/ops/page.ts', `import { queue } from '../reconcile/queue.ts';`],
    ['src/ops/page.ts', `import { receive } from '../intake/receive.ts';`],
    // The sandbox shares the shapes with the mirror and nothing else.
    ['src/sandbox/sandbox.ts', `import { sign } from '../service/signature.ts';`],
    ['src/sandbox/sandbox.ts', `import { fold } from '../core/fold.ts';`],
    ['src/sandbox/deep/sandbox.ts', `import { open } from '../../store/open.ts';`],
    // The configuration is read by entries, and handed inward.
    ['src/service/client.ts', `import { loadConfig } from '../config.ts';`],
    ['src/ops/page.ts', `import { VARIABLES } from '../config/variables.ts';`],
    ['src/config.ts', `import { open } from './store/open.ts';`],
    ['src/config/raw.ts', `import { log } from '../log.ts';`],
    // Nobody imports an entry.
    ['src/cli/serve.ts', `import '../main.ts';`],
    ['src/cli/serve.ts', `import '../cli.ts';`],
    ['src/cli/serve.ts', `import '../bin.ts';`],
    ['src/main.ts', `import './cli.ts';`],
    ['src/main.ts', `import './main.ts';`],
    ['src/cli.ts', `import './main.ts';`],
    ['src/index.ts', `import './main.ts';`],
    ['src/index.ts', `import { loadConfig } from './config.ts';`],
    ['src/ops/page.ts', `import { compose } from '../compose.ts';`],
    ['src/ops/page.ts', `import { serve } from '../serve.ts';`],
    ['src/intake/receive.ts', `import { createClock } from '../clock.ts';`],
    ['src/clock.ts', `import { log } from './log.ts';`],
    ['src/serve.ts', `import { run } from './cli/run.ts';`],
    // The partners' client tries again by itself: beneath the mirror's own pacing it has no place.
    ['src/client.ts', `import { loadConfig } from './config.ts';`],
    ['src/client.ts', `import { open } from './store/open.ts';`],
    ['src/compose.ts', `import { createClient } from './client.ts';`],
    ['src/reconcile/reader.ts', `import { createClient } from '../client.ts';`],
    // What loads on old Nodes stays small.
    ['src/bin.ts', `import './cli.ts';`],
    ['src/bin.ts', `import './node-version.ts';`],
    ['src/bin.ts', `import pc from 'picocolors';`],
    ['src/bin.ts', `await import('./main.ts');`],
    ['src/node-version.ts', `import { inspect } from 'node:util';`],
    ['src/node-requirement.ts', `import { log } from './log.ts';`],
    // Every kind of import counts.
    ['src/core/gap.ts', `export { sign } from '../service/signature.ts';`],
    ['src/core/gap.ts', `export * from '../service/signature.ts';`],
    ['src/core/gap.ts', `import type { Body } from '../service/schemas.ts';`],
    ['src/core/gap.ts', `export type { Body } from '../service/schemas.ts';`],
    ['src/core/gap.ts', `export type Body = import('../service/schemas.ts').Body;`],
    ['src/core/gap.ts', `export const load = () => import('../service/schemas.ts');`],
    ['src/core/gap.ts', 'export const load = () => import(`../service/schemas.ts`);'],
    ['src/core/gap.ts', `import '../service/schemas.ts';`],
    // Outside src/, into no area, and to who knows where.
    ['src/service/client.ts', `import { stub } from '../../test/service/stub.ts';`],
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
    expect(await lint('src/core/gap.ts', code)).toContain(rule);
    // Elsewhere it is nobody's business.
    expect(await lint('src/store/gap.ts', code)).toEqual([]);
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
    expect(await lint('src/store/open.ts', code)).toEqual([rule]);
    expect(await lint('src/main.ts', code)).toEqual([rule]);
    expect(await lint('src/core/gap.ts', code)).toContain(rule);
  });

  it('is read by config.ts', async () => {
    expect(await lint('src/config.ts', 'export const a = process.env;')).toEqual([]);
  });
});

describe('a bare true or false', () => {
  it.each<string>([
    'export function open(path: string, force: boolean) { return force ? path : null; }',
    'export const open = (force: boolean) => force;',
    'export class File { open(force: boolean) { return force; } }',
    'export interface File { open(force: boolean): void }',
    'export type Open = (force: boolean) => void;',
  ])('is no parameter: %s', async (code) => {
    expect(await lint('src/store/open.ts', code)).toEqual(['no-restricted-syntax']);
    expect(await lint('src/core/gap.ts', code)).toEqual(['no-restricted-syntax']);
    expect(await lint('test/store/open.test.ts', code)).toEqual([]);
  });
});

describe('clean code passes', () => {
  it.each<[path: string, code: string]>([
    ['src/core/gap.ts', `import { limit } from './limits.ts';\nexport const at = new Date(limit).getTime();`],
    [
      'src/core/deep/gap.ts',
      `import { limit } from '../limits.ts';\nexport const at = Math.max(limit, Date.UTC(2020));`,
    ],
    [
      'src/service/client.ts',
      `import { z } from 'zod';\nexport * from '../core/backoff.ts';\nexport default z;`,
    ],
    [
      'src/service/client.ts',
      `import manifest from '../../package.json' with { type: 'json' };\nexport default manifest;`,
    ],
    ['src/store/open.ts', `import type { Body } from '../service/schemas.ts';\nexport type B = Body;`],
    ['src/store/open.ts', 'export const open = ({ force }: { readonly force: boolean }) => force;'],
    ['src/intake/receive.ts', `import { writer } from '../store/writer.ts';\nexport const a = writer;`],
    ['src/reconcile/queue.ts', `import { client } from '../service/client.ts';\nexport const a = client;`],
    ['src/ops/page.ts', `import { readers } from '../store/readers.ts';\nexport const a = readers;`],
    ['src/ops/page.ts', `import { log } from '../log.ts';\nexport const a = log;`],
    ['src/ops/page.ts', `import { Secret } from '../secret.ts';\nexport const a = Secret;`],
    [
      'src/sandbox/sandbox.ts',
      `import { idSchema } from '../service/schemas.ts';\nexport const a = idSchema;`,
    ],
    ['src/sandbox/sandbox.ts', `import { log } from '../logger.ts';\nexport const a = log;`],
    ['src/config.ts', `import { raw } from './config/raw.ts';\nexport const a = raw;`],
    ['src/config/raw.ts', `import { Secret } from '../secret.ts';\nexport const a = Secret;`],
    ['src/serve.ts', `import { queue } from './reconcile/queue.ts';\nexport const a = queue;`],
    ['src/serve.ts', `import { createClock } from './clock.ts';\nexport const a = createClock;`],
    ['src/cli/serve.ts', `import { serve } from '../serve.ts';\nexport const a = serve;`],
    ['src/cli/serve.ts', `import { run } from './run.ts';\nexport const a = run;`],
    [
      'src/cli/sandbox.ts',
      `import { startSandbox } from '../sandbox/sandbox.ts';\nexport const a = startSandbox;`,
    ],
    ['src/main.ts', `import './node-version.ts';\nimport { loadConfig } from './config.ts';\nloadConfig();`],
    ['src/cli.ts', `import { run } from './cli/run.ts';\nrun();`],
    ['src/main.ts', `import { EXIT } from './cli/exit-codes.ts';\nprocess.exitCode = EXIT.done;`],
    ['src/index.ts', `export { createClient } from './service/client.ts';`],
    ['src/bin.ts', `import { need } from './node-requirement.ts';\nif (need) await import('./cli.ts');`],
    ['test/core/gap.test.ts', `import '../../src/main.ts';\nexport const a = [Date.now(), process.env];`],
    ['scripts/bench.ts', `import '../src/sandbox/sandbox.ts';\nexport const a = process.env;`],
  ])('%s: %s', async (path, code) => {
    expect(await lint(path, code)).toEqual([]);
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
