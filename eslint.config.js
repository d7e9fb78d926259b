import css from '@eslint/css';
import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import ts from 'typescript-eslint';
import { local } from './scripts/lint/plugin.js';

const STORE_API = ['core', 'platform', 'store-api/contract', 'store-api'];
const MIRROR = [...STORE_API, 'sqlite', 'inbox', 'mirror'];
const APP = [...MIRROR, 'receiver', 'reconcile', 'stream', 'ops', 'config', 'app'];

/** The folders that each folder of src/ may import, apart from itself. */
const IMPORTS = {
  core: [],
  platform: [],
  web: ['platform'],
  'store-api/contract': [],
  'store-api': STORE_API,
  sqlite: ['platform'],
  inbox: [...STORE_API, 'sqlite'],
  mirror: MIRROR,
  receiver: [...STORE_API, 'sqlite', 'inbox', 'stream'],
  reconcile: MIRROR,
  stream: [...STORE_API, 'sqlite', 'inbox'],
  ops: [...MIRROR, 'stream', 'web'],
  // It simulates the store, so it shares only the shapes of bodies and answers with the mirror.
  sandbox: ['store-api/contract'],
  config: ['platform'],
  // It is published for programs on hosts without a mirror, and knows only the mirror's HTTP API.
  feed: [],
  app: APP,
  cli: [...APP, 'sandbox'],
};

const LOADED_LATE = [
  {
    group: ['drizzle-orm', 'drizzle-orm/*'],
    allowTypeImports: true,
    message: 'Import it from src/sqlite/drizzle.ts, which says why.',
  },
  {
    group: ['@nats-io/*'],
    allowTypeImports: true,
    message: 'It is optional: src/stream/nats.ts loads it by import() when STREAM_URL is set.',
  },
];

/** The files that load drizzle. */
const QUERIES = [
  'src/sqlite/query.ts',
  'src/inbox/inbox-table.ts',
  'src/mirror/file/{schema,view-columns}.ts',
  'src/mirror/queries/**/*.ts',
];
const TYPED = {
  group: [
    '**/sqlite/{drizzle,query}.ts',
    '**/inbox-table.ts',
    '**/file/{schema,view-columns}.ts',
    '**/queries/**',
  ],
  allowTypeImports: true,
  message: 'It loads drizzle, which takes a thread 3 MB: ask the reader of the main thread, or write SQL.',
};

const ENVIRONMENT = { object: 'process', property: 'env', message: 'Only config reads the environment.' };
const PURE = 'This folder is pure: time, randomness and I/O are arguments.';
const IMPURE = [
  'process',
  'performance',
  'crypto',
  'fetch',
  'console',
  'setTimeout',
  'setInterval',
  'setImmediate',
];

export default defineConfig(
  globalIgnores(['dist/', 'coverage/', 'data/', 'drizzle/', '.stryker-tmp/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' }, plugins: { '@typescript-eslint': ts.plugin } },
  {
    files: ['**/*.css'],
    language: 'css/css',
    plugins: { css },
    extends: ['css/recommended'],
    rules: {
      // Variables for colours are defined in pico.css.
      'css/no-invalid-properties': ['error', { allowUnknownVariables: true }],
      'css/use-baseline': 'off',
    },
  },
  {
    files: ['**/*.{js,mjs,ts}'],
    extends: [js.configs.recommended, ts.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      eqeqeq: 'error',
      'no-console': 'error',
      'no-duplicate-imports': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // Callers mix up longer rows of arguments: use one object with names.
      '@typescript-eslint/max-params': ['error', { max: 4 }],
      // `() => log(x)` is idiomatic for a callback. Other uses of a void value stay errors.
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      // The rule assumes that a tested value is unchanged after an await, such as a signal or a flag that stops a loop.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // The rule refuses `Promise.reject<void>` and a callback's `T | void`.
      '@typescript-eslint/no-invalid-void-type': 'off',
      // `const { secret: _, ...rest }` leaves out a field.
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: { '@typescript-eslint/no-restricted-imports': ['error', { patterns: [...LOADED_LATE, TYPED] }] },
  },
  {
    files: [...QUERIES, 'src/mirror/reader/*.ts', 'src/cli/status.ts'],
    rules: { '@typescript-eslint/no-restricted-imports': ['error', { patterns: LOADED_LATE }] },
  },
  // `expect.any()` and similar matchers have the type any.
  { files: ['test/**'], rules: { '@typescript-eslint/no-unsafe-assignment': 'off' } },
  { files: ['scripts/**', 'examples/**'], rules: { 'no-console': 'off' } },
  { files: ['**/*.js', '**/*.mjs'], ignores: ['src/web/page/**'], extends: [ts.configs.disableTypeChecked] },
  // The compiler checks browser globals; the linter ignores casts in comments.
  {
    files: ['src/web/page/*.js'],
    rules: { 'no-undef': 'off', '@typescript-eslint/no-unsafe-assignment': 'off' },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/config/**', 'src/platform/**'],
    rules: { 'no-restricted-properties': ['error', ENVIRONMENT] },
  },
  {
    files: ['src/**/*.ts'],
    plugins: { local },
    rules: { 'local/folders': ['error', IMPORTS] },
  },
  {
    files: ['src/**/*.ts'],
    plugins: { local },
    rules: { 'local/no-circles': 'error' },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/sqlite/{prepared,query}.ts'],
    plugins: { local },
    rules: { 'local/checked-rows': 'error' },
  },
  {
    files: ['**/*.{js,ts}'],
    plugins: { local },
    rules: { 'local/no-literal-spread': 'error' },
  },
  {
    files: ['src/core/**'],
    rules: {
      'no-restricted-imports': ['error', { patterns: [{ regex: '^[^.]', message: PURE }] }],
      'no-restricted-globals': ['error', ...IMPURE.map((name) => ({ name, message: PURE }))],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: PURE },
        { object: 'Math', property: 'random', message: PURE },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: PURE },
      ],
    },
  },
);
