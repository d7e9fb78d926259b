import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { present } from '../shared/present.ts';

export const ROOT = join(import.meta.dirname, '../..');

export function documentAt(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

export interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
  readonly heading: string;
}

interface Line {
  readonly text: string;
  readonly isCode: boolean;
}

const FENCE = /^(`{3,})([^`]*)$/;

export function blocksOf(document: string, language?: string): Block[] {
  const blocks: Block[] = [];
  let heading = '';
  let open: { fence: string; language: string; line: number; lines: string[] } | null = null;
  for (const [index, text] of document.split('\n').entries()) {
    if (open !== null) {
      if (text.trim() !== open.fence) {
        open.lines.push(text);
        continue;
      }
      const { lines, language: of, line } = open;
      blocks.push({ language: of, text: lines.map((each) => `${each}\n`).join(''), line, heading });
      open = null;
      continue;
    }
    const [, fence, info = ''] = FENCE.exec(text.trim()) ?? [];
    if (fence !== undefined) open = { fence, language: info.trim(), line: index + 1, lines: [] };
    else heading = /^#{1,6} (.*)$/.exec(text)?.[1] ?? heading;
  }
  if (open !== null) throw new Error(`the block that line ${open.line} opens has no end`);
  return language === undefined ? blocks : blocks.filter((block) => block.language === language);
}

export function blockWith(document: string, language: string, part: string): Block {
  const found = blocksOf(document, language).filter(({ text }) => text.includes(part));
  const [block] = found;
  if (block === undefined || found.length > 1)
    throw new Error(`${found.length} blocks of ${language} contain ${JSON.stringify(part)}`);
  return block;
}

function linesOf(document: string): Line[] {
  let fence: string | null = null;
  return document.split('\n').map((text) => {
    const [, opened] = FENCE.exec(text.trim()) ?? [];
    const wasCode = fence !== null;
    if (fence === null) fence = opened ?? null;
    else if (text.trim() === fence) fence = null;
    return { text, isCode: wasCode || fence !== null };
  });
}

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function tablesOf(document: string): Table[] {
  const tables: { head: string[]; rows: string[][] }[] = [];
  let isTable = false;
  for (const { text, isCode } of linesOf(document)) {
    const isRow = !isCode && text.trimStart().startsWith('|');
    if (isRow && !isTable) tables.push({ head: cellsOf(text), rows: [] });
    else if (isRow && !/^[\s|:-]+$/.test(text)) present(tables.at(-1)).rows.push(cellsOf(text));
    isTable = isRow;
  }
  return tables;
}

function cellsOf(row: string): string[] {
  return row
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}
