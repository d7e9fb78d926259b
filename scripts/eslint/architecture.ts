/** The rules of this project's own, beside those that come from packages: what its architecture promises. */
import type { Linter } from 'eslint';
import { dependencyDirection } from './dependency-direction.ts';

const ENVIRONMENT = {
  object: 'process',
  property: 'env',
  message: 'Only config/config.ts reads the environment.',
};

const PURE = 'This is pure: what it needs of the world comes in as an argument.';

/** Everything that reaches outside, or tells two runs apart. */
const IMPURE_GLOBALS = [
  'Buffer',
  'clearImmediate',
  'clearInterval',
  'clearTimeout',
  'console',
  'crypto',
  'fetch',
  'global',
  'globalThis',
  'performance',
  'process',
  'queueMicrotask',
  'setImmediate',
  'setInterval',
  'setTimeout',
];

const BARE_BOOLEAN = [
  ':matches(:function, TSMethodSignature, TSFunctionType) > Identifier.params[typeAnnotation.typeAnnotation.type="TSBooleanKeyword"]',
  ':function > AssignmentPattern.params[right.raw=/^(true|false)$/]',
].map((selector) => ({
  selector,
  message: 'At the call nobody sees what `true` means: take an object with its name, or a union of words.',
}));

export const architecture: Linter.Config[] = [
  {
    name: 'stock-mirror/parameters',
    files: ['src/**/*.ts', 'scripts/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...BARE_BOOLEAN] },
  },
  {
    name: 'stock-mirror/dependency-direction',
    files: ['src/**/*.ts'],
    plugins: { 'stock-mirror': { rules: { 'dependency-direction': dependencyDirection } } },
    rules: {
      'stock-mirror/dependency-direction': 'error',
      // Imported, it would hide `process.env` from the next rule.
      'no-restricted-imports': ['error', { paths: ['process', 'node:process'] }],
    },
  },
  {
    name: 'stock-mirror/environment',
    files: ['src/**/*.ts'],
    // The others look at what is Node's and npm's own, no setting of this program.
    ignores: ['src/config/config.ts', 'src/platform/compile-cache.ts', 'src/platform/npm-shell.ts'],
    rules: { 'no-restricted-properties': ['error', ENVIRONMENT] },
  },
  {
    name: 'stock-mirror/pure-core',
    files: ['src/core/**/*.ts', 'src/traffic/**/*.ts', 'src/app/steady-clock.ts'],
    rules: {
      'no-restricted-globals': ['error', ...IMPURE_GLOBALS.map((name) => ({ name, message: PURE }))],
      'no-restricted-properties': [
        'error',
        ENVIRONMENT,
        { object: 'Date', property: 'now', message: PURE },
        { object: 'Math', property: 'random', message: PURE },
      ],
      'no-restricted-syntax': [
        'error',
        ...BARE_BOOLEAN,
        { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: PURE },
        { selector: 'CallExpression[callee.name="Date"]', message: PURE },
      ],
    },
  },
];
