/** docs/schemas has what `--json` prints. That the commands do print it: answers.slow.test.ts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ANSWER_NAMES, schemaFiles, SCHEMAS } from '../../scripts/schemas.ts';
import { wholeProgram } from '../../src/cli/verbs.ts';
import { ANSWERS } from '../../src/cli/shared/answers.ts';
import { documentAt } from '../docs/blocks.ts';

test('the schemas are those of the program: `npm run schemas` makes them anew', async () => {
  const files = readdirSync(SCHEMAS).map(
    (name) => [name, readFileSync(join(SCHEMAS, name), 'utf8')] as const,
  );
  expect(new Map(files)).toEqual(await schemaFiles());
});

test('every command with --json has one, and the document leads to each', async () => {
  const described = new Set(ANSWER_NAMES.map((name) => ANSWERS[name].printedBy.split(' ')[0]));
  const all = (await wholeProgram()).commands;
  const printing = all.filter((command) => command.options.some(({ long }) => long === '--json'));
  expect(printing.map((command) => command.name()).filter((name) => !described.has(name))).toEqual([]);
  const document = documentAt('docs/operating.md');
  for (const name of ANSWER_NAMES) expect(document).toContain(`](schemas/${name}.json)`);
});
