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

test('--spreadsheet marks what would become a formula, also after a line break or a space', () => {
  const texts = ['=1', '+1a', '-A', '@x', ' =1', '＝1'];
  expect(fields(true, texts)).toEqual(texts.map((text) => `'${text}`));
  expect(fields(true, ['\n=1', '\r\n=1', '\t=1'])).toEqual(['"\'\n\'=1"', '"\'\r\n\'=1"', `'\t'=1`]);
});

test('--spreadsheet marks a formula inside a text that another list separator or a line break splits', () => {
  expect(fields(true, ['a;=1', 'a; -1+2', 'a\n@x', 'a;b', 'a-b=1'])).toEqual([
    `a;'=1`,
    `a; '-1+2`,
    `"a\n'@x"`,
    'a;b',
    'a-b=1',
  ]);
});

test('--spreadsheet marks what would become another number, a date or a truth value', () => {
  const changed = [
    '1234567890123456789',
    '00123',
    '1E5',
    '90.750',
    '1.0',
    '1,5',
    '1/2',
    '10-11',
    '1:30',
    '$5',
    '฿5',
    '5 €',
  ];
  const words = ['MAR1', '1-Mar', '2 September', 'Dec-24', 'TRUE', 'false'];
  const marked = fields(true, [...changed, ...words]).map((field) => field.replaceAll('"', ''));
  expect(marked).toEqual([...changed, ...words].map((text) => `'${text}`));
});

test('--spreadsheet does not mark numbers, short ids and other texts', () => {
  const texts = ['', '0', '7003', '123456789012345', 'TS-RED-M', 'Mug 30 cl', 'Marble 12', 'May', '3M tape'];
  expect(fields(true, texts)).toEqual(texts);
});
