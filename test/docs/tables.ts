/** Tables and sections of the documents, as tests read them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** The text of a document of the project. @param path below the project's root. */
export function readDocument(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** What stands below a heading, up to the next one of the same or a higher level. @throws Error when there is no such heading. */
export function section(markdown: string, heading: string): string {
  const lines = markdown.split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  const level = /^#+/.exec(lines[start] ?? '')?.[0].length;
  if (level === undefined) throw new Error(`the document has no heading "${heading}"`);
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => new RegExp(`^#{1,${level}} `).test(line));
  return (end < 0 ? rest : rest.slice(0, end)).join('\n');
}

export type Row = Readonly<Record<string, string>>;

/** The rows of the first table of a text, each cell by the name of its column. @throws Error when there is no table. */
export function table(markdown: string): Row[] {
  const lines = markdown.split('\n');
  const start = lines.findIndex((line) => line.startsWith('|'));
  if (start < 0) throw new Error('there is no table');
  const rest = lines.slice(start);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  const [header = [], , ...rows] = (end < 0 ? rest : rest.slice(0, end)).map(cells);
  return rows.map((row) => Object.fromEntries(header.map((name, index) => [name, row[index] ?? ''])));
}

function cells(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** What a text has between backticks. */
export function codes(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
}
