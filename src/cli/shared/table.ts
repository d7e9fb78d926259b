import { stripVTControlCharacters } from 'node:util';

export function table(rows: readonly (readonly [name: string, value: string])[]): string {
  const lengthOf = (name: string): number => stripVTControlCharacters(name).length;
  const width = Math.max(...rows.map(([name]) => lengthOf(name)));
  return rows.map(([name, value]) => `${name}${' '.repeat(width - lengthOf(name))}  ${value}\n`).join('');
}
