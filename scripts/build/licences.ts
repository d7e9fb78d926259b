/** The licence texts that must accompany the bundled packages. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Packages without the text, and where to find it. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'drizzle-orm': 'typescript/LICENSE.txt',
  '@hono/zod-openapi': 'hono/LICENSE',
  '@hono/zod-validator': 'hono/LICENSE',
};

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

export function licencesOf(root: string, folders: Iterable<string>): string {
  const parts = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    ) as Manifest;
    const found = readdirSync(folder)
      .filter((file) => /^(licen[cs]e|notice|copying)\b/i.test(file))
      .map((file) => join(folder, file));
    const elsewhere = ELSEWHERE[name];
    if (found.length === 0 && elsewhere !== undefined) found.push(join(root, 'node_modules', elsewhere));
    if (found.length === 0 || license === undefined)
      throw new Error(`${folder} has no licence: scripts/build/licences.ts must say where it can be read`);
    const texts = found.map((file) => readFileSync(file, 'utf8').trim());
    return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`;
  });
  return `dist/ holds code of these packages, each under its own licence.\n\n${parts
    .toSorted()
    .join(`\n${'-'.repeat(80)}\n\n`)}`;
}
