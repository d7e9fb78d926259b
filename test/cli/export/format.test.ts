import { stringify } from 'csv-stringify/sync';
import { expect, test } from 'vitest';
import { csvOptions, formatOf } from '../../../src/cli/export.ts';

function fields(forSpreadsheet: boolean, texts: readonly string[]): string[] {
  const rows = texts.map((text) => ({ sku: text, qty: -1 }));
  const text = stringify(rows, { ...csvOptions({ spreadsheet: forSpreadsheet }), bom: false });
  return text.split(',-1\r\n').slice(0, -1);
}

test('tells the format from the name of the file', () => {
  const names = [
    'stock.csv',
    'STOCK.CSV',
    'a.b/stock.json',
    'stock.jsonl',
    'stock.ndjson',
    'stock',
    'csv',
    'a.csv.gz',
  ];
  expect(names.map(formatOf)).toEqual(['csv', 'csv', 'json', 'json', 'json', null, null, null]);
});

test('quotes a lone line feed or carriage return', () => {
  expect(fields(false, ['a\nb', 'a\rb', 'a\r\nb', 'plain'])).toEqual([
    '"a\nb"',
    '"a\rb"',
    '"a\r\nb"',
    'plain',
  ]);
});

test('--spreadsheet marks every text that is not letters, spaces and underscores', () => {
  const formulas = ['=1', '+1a', '-A', '@x', ' =1', '＝1'];
  const numbers = ['1234567890123456789', '00123', '7003', '1E5', '1,5', '10-11', '1:30', '฿5', '1-Mar'];
  const names = ['TS-RED-M', 'Mug 30 cl', '3M tape'];
  const texts = [...formulas, ...numbers, ...names];
  const marked = fields(true, texts).map((field) => field.replaceAll('"', ''));
  expect(marked).toEqual(texts.map((text) => `'${text}`));
});

test('--spreadsheet also marks where another list separator or a line break splits a text', () => {
  expect(fields(true, ['a;=1', 'a; -1', 'a\n@x', '\r\n=1', '\t=1'])).toEqual([
    `'a;'=1`,
    `'a;' -1`,
    `"'a\n'@x"`,
    `"'\r'\n'=1"`,
    `'\t'=1`,
  ]);
});

test('--spreadsheet does not mark words and codes', () => {
  const texts = ['', 'Mug', 'Red mug', 'สินค้า', 'Café', 'not_read'];
  expect(fields(true, texts)).toEqual(texts);
});
