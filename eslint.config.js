import css from '@eslint/css';
import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import ts from 'typescript-eslint';
import { architecture } from './scripts/eslint/architecture.ts';

export default defineConfig(
  globalIgnores(['dist/', 'coverage/', 'data/', 'drizzle/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' }, plugins: { '@typescript-eslint': ts.plugin } },
  {
    files: ['**/*.css'],
    language: 'css/css',
    plugins: { css },
    extends: ['css/recommended'],
    rules: {
      // The colours stand in a sheet of their own, before the others.
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
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // Five in a row are mixed up sooner or later: they go into an object, by their names.
      '@typescript-eslint/max-params': ['error', { max: 4 }],
      // `() => log(x)` for a callback is idiom; the rule stays for a void value that is put to use.
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      // It believes that what was tested before an await still holds after it: an aborted signal, a stopped loop.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // It takes `Promise.reject<void>` and a callback's `T | void` for mistakes.
      '@typescript-eslint/no-invalid-void-type': 'off',
      // `const { secret: _, ...rest }` is how a field is left out.
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/sqlite/drizzle.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: ['drizzle-orm', 'drizzle-orm/*'],
              allowTypeImports: true,
              message: 'Import it from sqlite/drizzle.ts, which says why.',
            },
          ],
        },
      ],
    },
  },
  // `expect.any()` and its kin are typed any, to fit wherever a matcher may stand.
  { files: ['test/**'], rules: { '@typescript-eslint/no-unsafe-assignment': 'off' } },
  { files: ['scripts/**'], rules: { 'no-console': 'off' } },
  { files: ['**/*.js', '**/*.mjs'], ignores: ['src/web/page/**'], extends: [ts.configs.disableTypeChecked] },
  // The types know what a browser has.
  { files: ['src/web/page/*.js'], rules: { 'no-undef': 'off' } },
  architecture,
);
