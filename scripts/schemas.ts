/**
 * JSON Schemas of what `--json` prints, made of src/cli/shared/answers.ts: `npm run schemas` writes them into docs/schemas.
 * A test holds them equal to what this makes, and the commands' answers to them.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { z } from '@hono/zod-openapi';
import { format, resolveConfig } from 'prettier';
import { ANSWERS } from '../src/cli/shared/answers.ts';

export const SCHEMAS = fileURLToPath(new URL('../docs/schemas', import.meta.url));

export type AnswerName = keyof typeof ANSWERS;
export const ANSWER_NAMES = Object.keys(ANSWERS) as readonly AnswerName[];

/** @param isStrict without room for keys that are not described: documents leave it, since keys may be added. */
export function schemaOf(name: AnswerName, { isStrict }: { readonly isStrict: boolean }): object {
  const { printedBy, schema } = ANSWERS[name];
  const { $schema, ...described } = z.toJSONSchema(schema, { io: isStrict ? 'output' : 'input' });
  return { $schema, title: `stock-mirror ${printedBy}`, ...described };
}

/** The files, by their names. */
export async function schemaFiles(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const name of ANSWER_NAMES) {
    const filepath = join(SCHEMAS, `${name}.json`);
    const text = JSON.stringify(schemaOf(name, { isStrict: false }));
    files.set(`${name}.json`, await format(text, { ...(await resolveConfig(filepath)), filepath }));
  }
  return files;
}

if (import.meta.main) {
  const files = await schemaFiles();
  mkdirSync(SCHEMAS, { recursive: true });
  for (const name of readdirSync(SCHEMAS)) if (!files.has(name)) rmSync(join(SCHEMAS, name));
  for (const [name, text] of files) writeFileSync(join(SCHEMAS, name), text);
}
